"""Runs the Python backend of docs/frontend.md, unchanged.

Reads {"source", "service", "key", "user"}, and prints what the backend returns to the page of this user.
"""

import json
import os
import sys

order = json.load(sys.stdin)
os.environ.update(SERVICE=order["service"], KEY=order["key"])
names = {}
exec(order["source"], names)
print(json.dumps(names["token_of"](order["user"])))
