//! `/api/keys` and `/api/oauth-clients`.

mod client;
mod clients;
mod id;
mod key;
mod keys;
mod operations;
mod public_keys;
mod view;

pub use client::{Client, ClientDraft, ClientPatch, ClientRotation, ClientWithSecret};
pub use clients::{
    __path_create_oauth_client, __path_get_oauth_client, __path_list_oauth_clients,
    __path_patch_oauth_client, __path_revoke_oauth_client, __path_rotate_oauth_client,
    create_oauth_client, get_oauth_client, list_oauth_clients, patch_oauth_client,
    revoke_oauth_client, rotate_oauth_client,
};
pub use id::CredentialPathId;
pub use key::{Key, KeyDraft, KeyPatch, KeyRotation, KeyWithSecret, Origin};
pub use keys::{
    __path_create_key, __path_get_key, __path_list_keys, __path_patch_key, __path_revoke_key,
    __path_rotate_key, create_key, get_key, list_keys, patch_key, revoke_key, rotate_key,
};
pub use public_keys::{KeyAlgorithm, KeyCurve, KeyPurpose, KeyType, PublicKey, PublicKeySet};
