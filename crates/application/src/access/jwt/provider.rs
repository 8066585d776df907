//! The cryptography underneath.

/// Chooses the cryptography underneath: first thing in `main`, next to that of TLS. Where one is
/// installed already, it stays. Without the call the features of the library choose, and it panics
/// at the first token if another crate has asked for a second one of them.
pub fn install_provider() {
    let _ = jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER.install_default();
}
