"""Parts of `prowess eval`: records, judges, exports, and the text of a result."""
