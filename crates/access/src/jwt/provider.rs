//! The cryptographic provider of the JWT library.

/// Installs the cryptographic provider of the JWT library. `main` calls it first, like the one for
/// TLS. A provider that is already installed stays. Without this call the library selects a
/// provider by its features, and panics at the first token if another crate enables a second one.
pub fn install_provider() {
    let _ = jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER.install_default();
}
