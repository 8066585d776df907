//! Access tokens: those of this service, and those of external issuers.

mod access_tokens;
mod claim_path;
mod external_issuer;
mod external_issuers;
mod issuer_config;
mod key_location;
mod key_set;
mod known_tenants;
mod own_token;
mod own_tokens;
mod permissions;
mod reserved_user_ids;
mod token_kind;

pub use access_tokens::AccessTokens;
pub use claim_path::{ClaimPath, MalformedClaimPath};
pub use external_issuers::ExternalIssuers;
pub use issuer_config::{IssuerConfig, IssuerId, MalformedIssuerId, TenantSource, TokenType};
pub use key_location::KeyLocation;
pub use key_set::{KeySet, KeySets, KeysUnavailable, MIN_FETCH_INTERVAL};
pub use own_token::{IssuedToken, OwnToken, TokenUser, unix_seconds};
pub use own_tokens::OwnTokens;
pub use reserved_user_ids::ReservedUserIds;
