"""The service as seen by Authlib, also as the authority whose tokens another resource server
checks; client_talk.py describes input and output."""

import requests
from authlib.integrations.base_client.errors import OAuthError
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata, get_well_known_url
from authlib.oauth2.rfc9068 import JWTBearerTokenValidator
from joserfc.jwk import KeySet, import_key

from client_talk import expect, main, use_token


class PublishedKeys(JWTBearerTokenValidator):
    """Another resource server, which takes tokens by the published keys."""

    def __init__(self, metadata, audience):
        super().__init__(issuer=metadata["issuer"], resource_server=audience)
        self.metadata = metadata

    def get_jwks(self):
        return KeySet.import_key_set(requests.get(self.metadata["jwks_uri"]).json())


def talk(order):
    metadata = discover(order["baseUrl"])
    methods = {}
    for session in sessions(order, metadata):
        methods[session.token_endpoint_auth_method] = use(session, metadata, order)
    return {"library": "authlib", "methods": methods, "refusals": refusals(order, metadata)}


def discover(base_url):
    url = get_well_known_url(base_url, external=True)
    metadata = AuthorizationServerMetadata(requests.get(url).json())
    # An empty list of response types, which is what a server without any has to publish, counts as
    # a missing one.
    for member in set(metadata.REGISTRY_KEYS) - {"response_types_supported"}:
        getattr(metadata, f"validate_{member}")()
    return metadata


def session_of(order, secret, method):
    scope, client_id = order["scope"], order["clientId"]
    # It knows the way to authenticate at the token endpoint, and at the other two separately.
    return OAuth2Session(
        client_id,
        secret,
        scope=scope,
        token_endpoint_auth_method=method,
        revocation_endpoint_auth_method=method,
    )


def sessions(order, metadata):
    if "clientSecret" in order:
        for method in ("client_secret_basic", "client_secret_post"):
            yield session_of(order, order["clientSecret"], method)
    else:
        yield signing_session(order, metadata["issuer"])


def signing_session(order, audience):
    key = order["privateKey"]
    session = session_of(order, import_key(key), "private_key_jwt")
    # Its first parameter is what becomes the audience.
    signing = PrivateKeyJWT(audience, alg=key["alg"], headers={"kid": key["kid"]})
    session.register_client_auth_method(signing)
    return session


def use(session, metadata, order):
    agents = f"{order['baseUrl']}/api/agents"
    used = use_token(
        grant=lambda: grant(session, metadata),
        call=lambda: session.get(agents),
        introspect=lambda: introspect(session, metadata),
        revoke=lambda: revoke(session, metadata),
        order=order,
    )
    check_token(grant(session, metadata), metadata, order)
    return used


def grant(session, metadata):
    return session.fetch_token(metadata["token_endpoint"], grant_type="client_credentials")


def introspect(session, metadata):
    token = session.token["access_token"]
    answer = session.introspect_token(metadata["introspection_endpoint"], token=token)
    return answer.json()


def revoke(session, metadata):
    token = session.token["access_token"]
    return session.revoke_token(metadata["revocation_endpoint"], token=token)


def check_token(token, metadata, order):
    """Another resource server validates the token by RFC 9068."""
    resource = requests.get(f"{order['baseUrl']}/.well-known/oauth-protected-resource").json()
    validator = PublishedKeys(metadata, resource["resource"])
    claims = validator.authenticate_token(token["access_token"])
    validator.validate_token(claims, order["scope"].split(), None)
    expect((claims["client_id"], claims["sub"]), (order["clientId"], order["clientId"]))


def refusals(order, metadata):
    """The library's errors for error responses of the token endpoint."""
    if "privateKey" in order:
        # The library's default audience is the token endpoint.
        session = signing_session(order, metadata["token_endpoint"])
        return {"otherAudience": refusal(session, metadata)}
    unknown = {**order, "scope": "no:such"}
    wrong, right = order["clientSecret"] + "x", order["clientSecret"]
    basic = "client_secret_basic"
    return {
        "wrongSecret": refusal(session_of(order, wrong, basic), metadata),
        "unknownScope": refusal(session_of(unknown, right, basic), metadata),
    }


def refusal(session, metadata):
    try:
        return grant(session, metadata)
    except OAuthError as error:
        return error.error


if __name__ == "__main__":
    main(talk)
