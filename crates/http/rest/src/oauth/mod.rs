//! The endpoints of the authorization server: RFC 6749 (tokens), 7009 (revocation), 7662
//! (introspection), 8414 and 9728 (metadata).

mod basic;
mod client_form;
mod form;
mod introspect;
mod key_set;
mod metadata;
mod request;
mod revoke;
mod token;

pub use client_form::ClientForm;
pub use introspect::{
    __path_introspect_token, ActiveToken, InactiveToken, IntrospectionBody, introspect_token,
};
pub use key_set::{__path_get_jwks, KeySetBody, get_jwks};
pub use metadata::{
    __path_get_authorization_server, __path_get_protected_resource, AuthorizationServerMetadata,
    Metadata, ProtectedResourceMetadata, configure_metadata, get_authorization_server,
    get_protected_resource,
};
pub use request::OAuthRequest;
pub use revoke::{__path_revoke_token, TokenReferenceForm, revoke_token};
pub use token::{__path_issue_token, TokenBody, TokenForm, issue_token};
