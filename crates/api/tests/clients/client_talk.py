"""The test flow of all client libraries; the file of each library only contains its calls."""

import json
import re
import sys
import time

# The seconds for which revoked credentials may still be accepted, generous for busy machines.
TIMEOUT = 20


def main(talk):
    """Reads from the input, as JSON, `baseUrl`, `clientId`, `scope` and either `clientSecret` or
    `privateKey` (a JWK with `alg`), hands them to `talk` and prints as a line of JSON what it
    answers."""
    print(json.dumps(talk(json.load(sys.stdin))))


def use_token(grant, call, introspect, revoke, order):
    """Fetches a token, calls the interface with it, has it introspected and revokes it."""
    granted = grant()
    expect(granted["token_type"].lower(), "bearer")
    expect(scopes(granted.get("scope", order["scope"])), scopes(order["scope"]))
    expect(call().status_code, 200)
    told = introspect()
    expect((told["active"], told["client_id"]), (True, order["clientId"]))
    expect(scopes(told["scope"]), scopes(order["scope"]))

    expect(revoke().status_code, 200)
    until("it is introspected as inactive", lambda: not introspect()["active"])
    until("it is refused", lambda: call().status_code != 200)
    refused = call()
    expect(refused.status_code, 401)
    [error] = re.findall(r'error="([^"]*)"', refused.headers["WWW-Authenticate"])
    expect(error, "invalid_token")
    return {"expiresIn": granted["expires_in"], "refused": {"status": 401, "error": error}}


def scopes(said):
    """The scopes of a text, or of what a library made of one."""
    return sorted(said.split() if isinstance(said, str) else said)


def expect(actual, expected):
    """Asserts that both are equal."""
    if actual != expected:
        raise AssertionError(f"{actual!r} instead of {expected!r}")


def until(what, condition):
    """Polls until the result is true."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{TIMEOUT} s later it does not hold that {what}")
        time.sleep(0.05)
