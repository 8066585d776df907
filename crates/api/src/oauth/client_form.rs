//! The parameters by which a client authenticates.

use utoipa::ToSchema;

/// How a client shows what it is: by exactly one of `Authorization: Basic`, a secret in the form,
/// or an assertion that it has signed.
#[derive(ToSchema)]
#[schema(as = ClientAuthentication)]
#[expect(dead_code, reason = "stands for its schema alone")]
#[expect(clippy::struct_field_names, reason = "the names are those of OAuth")]
pub struct ClientForm {
    /// The client's id.
    #[schema(nullable = false)]
    client_id: Option<String>,
    /// Its secret.
    #[schema(nullable = false)]
    client_secret: Option<String>,
    /// Goes with `client_assertion`.
    #[schema(
        nullable = false,
        pattern = "^urn:ietf:params:oauth:client-assertion-type:jwt-bearer$"
    )]
    client_assertion_type: Option<String>,
    /// A token that the client has signed (RFC 7523): `iss` and `sub` are its id, `aud` is the
    /// public URL of this service alone, `exp` is within an hour, `jti` is used once.
    #[schema(nullable = false)]
    client_assertion: Option<String>,
}
