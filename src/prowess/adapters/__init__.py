"""Adapt Prowess to agent frameworks, one module for each.

Front door: the module named after your framework, for example `prowess.adapters.langchain`. A framework is imported
with its module; if it is missing, the error names the extra to install. An adapter knows sessions, catalogs and
isolated homes, but no role, no command line and no other framework.
"""
