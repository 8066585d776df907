//! Who is let in, over a real store, with a clock that stands still until it is moved.

mod assertions;
mod authenticator;
mod client_authentication;
mod credentials;
mod desk;
mod key_pairs;
mod node;
mod refused_tokens;
mod rotation;
mod sealed_keys;
mod signing_keys;
mod tokens;
mod world;
