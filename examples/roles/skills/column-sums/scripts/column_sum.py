"""FILE, COLUMN in the environment -> the sum of the column, and of how many rows."""

import csv
import os
import sys
from decimal import Decimal, InvalidOperation

with open(os.environ["FILE"], encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(file))
column = os.environ["COLUMN"]
if not rows or column not in rows[0]:
    sys.exit(f"there is no column `{column}`; there are {', '.join(rows[0]) if rows else 'none'}")
try:
    total = sum(Decimal(row[column]) for row in rows)
except InvalidOperation:
    sys.exit(f"not all of `{column}` are numbers")
print(f"{total} in {len(rows)} rows")
