//! Tests of access over a real store, with a clock that moves only when a test moves it.

mod allowance;
mod assertions;
mod authenticator;
mod client_authentication;
mod credential_status;
mod credentials;
mod desk;
mod external_issuer;
mod jwt;
mod key_pairs;
mod named_key;
mod node;
mod probed_credentials;
mod refused_tokens;
mod repetitions;
mod rotation;
mod sealed_keys;
mod signing_keys;
mod standing_of_tokens;
mod tickets;
mod tokens;
mod watching;
mod web;
mod world;
