//! The parameters with which a client authenticates.

use utoipa::ToSchema;

/// The authentication of a client: exactly one of `Authorization: Basic`, a secret in the form, or
/// a signed assertion.
#[derive(ToSchema)]
#[schema(as = ClientAuthentication)]
#[expect(dead_code, reason = "only its schema is used")]
#[expect(clippy::struct_field_names, reason = "the names are those of OAuth")]
pub struct ClientForm {
    /// The client's id.
    #[schema(nullable = false)]
    client_id: Option<String>,
    /// Its secret.
    #[schema(nullable = false)]
    client_secret: Option<String>,
    /// Required with `client_assertion`.
    #[schema(
        nullable = false,
        pattern = "^urn:ietf:params:oauth:client-assertion-type:jwt-bearer$"
    )]
    client_assertion_type: Option<String>,
    /// A token that the client has signed (RFC 7523): `iss` and `sub` are its id, `aud` is exactly
    /// the public URL of this service, `exp` is within an hour, and `jti` is used once.
    #[schema(nullable = false)]
    client_assertion: Option<String>,
}
