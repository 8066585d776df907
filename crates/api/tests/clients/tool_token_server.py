"""Runs the check of tokens of docs/tools.md, unchanged.

Reads {"source", "service", "url", "authorization", "meta"}, and prints the claims about the caller.
"""

import json
import os
import sys

order = json.load(sys.stdin)
os.environ.update(SERVICE=order["service"], OWN_URL=order["url"])
names = {}
exec(order["source"], names)
print(json.dumps(names["caller_of"](order["authorization"], order["meta"])))
