"""The service as seen by oauthlib, by way of requests-oauthlib; client_talk.py describes input
and output. The library knows no `private_key_jwt` and no discovery."""

import os

import requests
from oauthlib.oauth2 import BackendApplicationClient, OAuth2Error
from requests.auth import HTTPBasicAuth
from requests_oauthlib import OAuth2Session

from client_talk import main, use_token

os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"


def talk(order):
    metadata = requests.get(f"{order['baseUrl']}/.well-known/oauth-authorization-server").json()
    methods = {
        method: use(order, metadata, authentication)
        for method, authentication in authentications(order, order["clientSecret"]).items()
    }
    return {"library": "oauthlib", "methods": methods, "refusals": refusals(order, metadata)}


def authentications(order, secret):
    """The parameters that each method adds to a request."""
    return {
        "client_secret_basic": {"auth": HTTPBasicAuth(order["clientId"], secret)},
        "client_secret_post": {"include_client_id": True, "client_secret": secret},
    }


def session_of(order):
    client = BackendApplicationClient(client_id=order["clientId"], scope=order["scope"].split())
    return OAuth2Session(client=client)


def use(order, metadata, authentication):
    session = session_of(order)
    return use_token(
        grant=lambda: session.fetch_token(metadata["token_endpoint"], **authentication),
        call=lambda: session.get(f"{order['baseUrl']}/api/agents"),
        introspect=lambda: introspect(order, metadata, session),
        revoke=lambda: revoke(order, metadata, session),
        order=order,
    )


def introspect(order, metadata, session):
    """The library leaves this one to its users."""
    auth = HTTPBasicAuth(order["clientId"], order["clientSecret"])
    form = {"token": session.token["access_token"]}
    answer = requests.post(metadata["introspection_endpoint"], data=form, auth=auth)
    answer.raise_for_status()
    return answer.json()


def revoke(order, metadata, session):
    client = BackendApplicationClient(client_id=order["clientId"])
    token = session.token["access_token"]
    url, headers, body = client.prepare_token_revocation_request(
        metadata["revocation_endpoint"], token
    )
    auth = HTTPBasicAuth(order["clientId"], order["clientSecret"])
    return requests.post(url, headers=headers, data=body, auth=auth)


def refusals(order, metadata):
    """The library's errors for error responses of the token endpoint."""
    wrong = authentications(order, order["clientSecret"] + "x")
    right = authentications(order, order["clientSecret"])
    unknown = {**order, "scope": "no:such"}
    return {
        "wrongSecret": refusal(order, metadata, wrong["client_secret_basic"]),
        "unknownScope": refusal(unknown, metadata, right["client_secret_basic"]),
    }


def refusal(order, metadata, authentication):
    try:
        return session_of(order).fetch_token(metadata["token_endpoint"], **authentication)
    except OAuth2Error as error:
        return error.error


if __name__ == "__main__":
    main(talk)
