"""Shared low-level functions, for all packages.

Import its modules: `fs` and `files` for files, `text` for messages, `frozen` for immutable values, `tempdirs`,
`signals`, `processes`, `user_dirs` and `lazy`. Of skills they know only the names and limits of their files.
"""
