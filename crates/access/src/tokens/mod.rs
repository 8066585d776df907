//! Access tokens: selection of the issuer, and verification of tokens of external issuers.

mod access_tokens;
mod claim_path;
mod discovery;
mod external_issuer;
mod issuer;
mod issuers;
mod key_set;
mod known_tenants;
mod permissions;
mod token_kind;

pub use access_tokens::AccessTokens;
pub use claim_path::{ClaimPath, MalformedClaimPath};
pub use discovery::KeyLocation;
pub use issuer::{Issuer, IssuerId, MalformedIssuerId, TenantOfUsers, TokenType};
pub use issuers::Issuers;
pub use key_set::{KeySet, KeySets, KeysUnavailable, PAUSE_BETWEEN_FETCHES};
