"""Runs the check of tokens of docs/tools.md, unchanged.

Reads {"source", "service", "url", "trusted", "authorization", "meta"}, and prints the claims about the
caller, or why it is refused.
"""

import json
import os
import sys

order = json.load(sys.stdin)
os.environ.update(SERVICE=order["service"], OWN_URL=order["url"], MAY_NAME_USERS=order["trusted"])
names = {}
exec(order["source"], names)
try:
    result = names["caller_of"](order["authorization"], order["meta"])
except PermissionError as error:
    result = {"refused": str(error)}
print(json.dumps(result))
