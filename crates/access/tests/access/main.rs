//! Tests of access over a real store, with a clock that moves only when a test moves it.

mod access_version;
mod auth_cache;
mod client_assertions;
mod client_authenticator;
mod credential_fixture;
mod credential_status;
mod encrypted_keys;
mod external_issuer;
mod fake_web;
mod fixed_limiter;
mod fixture;
mod idempotency;
mod instrumented_credentials;
mod jwt;
mod key_pairs;
mod key_with_id;
mod node;
mod privilege;
mod rejected_tokens;
mod rotation;
mod signing_keys;
mod tickets;
mod token_status;
mod tokens;
