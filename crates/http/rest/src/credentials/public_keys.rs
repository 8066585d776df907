//! The schema of a client's public keys. `domain::public_key_set` decides which keys are accepted
//! and which members are stored.

use utoipa::ToSchema;

/// Public keys (RFC 7517).
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct PublicKeySet {
    /// The keys.
    #[schema(min_items = 1)]
    keys: Vec<PublicKey>,
}

/// A public key (RFC 7517): on P-256, P-384 or Ed25519, or RSA of 2,048 to 8,192 bits. Members of
/// private keys are rejected; other members that are not listed here are ignored.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct PublicKey {
    /// The type of the key.
    kty: KeyType,
    /// The use of the key.
    #[schema(rename = "use", nullable = false)]
    purpose: Option<KeyPurpose>,
    /// The algorithm of its signatures. When absent, any that fits the key.
    #[schema(nullable = false)]
    alg: Option<KeyAlgorithm>,
    /// The id of the key; unique in the set.
    #[schema(min_length = 1, nullable = false)]
    kid: Option<String>,
    /// The curve, for `EC` and `OKP`.
    #[schema(nullable = false)]
    crv: Option<KeyCurve>,
    /// The x coordinate in base64url, for `EC` and `OKP`.
    #[schema(nullable = false)]
    x: Option<String>,
    /// The y coordinate in base64url, for `EC`.
    #[schema(nullable = false)]
    y: Option<String>,
    /// The modulus in base64url, for `RSA`.
    #[schema(nullable = false)]
    n: Option<String>,
    /// The exponent in base64url, for `RSA`.
    #[schema(nullable = false)]
    e: Option<String>,
}

/// The type of a key.
#[derive(ToSchema)]
pub enum KeyType {
    /// An elliptic curve of NIST.
    #[schema(rename = "EC")]
    Elliptic,
    /// An Edwards curve.
    #[schema(rename = "OKP")]
    Edwards,
    /// RSA.
    #[schema(rename = "RSA")]
    Rsa,
}

/// The use of a key.
#[derive(ToSchema)]
pub enum KeyPurpose {
    /// Signatures.
    #[schema(rename = "sig")]
    Signatures,
}

/// A curve.
#[derive(ToSchema)]
pub enum KeyCurve {
    /// For `ES256`.
    #[schema(rename = "P-256")]
    P256,
    /// For `ES384`.
    #[schema(rename = "P-384")]
    P384,
    /// For `EdDSA`.
    Ed25519,
}

/// A signature algorithm.
#[derive(ToSchema)]
pub enum KeyAlgorithm {
    /// ECDSA on P-256.
    #[schema(rename = "ES256")]
    Es256,
    /// ECDSA on P-384.
    #[schema(rename = "ES384")]
    Es384,
    /// RSA with PKCS #1.
    #[schema(rename = "RS256")]
    Rs256,
    /// RSA with PSS.
    #[schema(rename = "PS256")]
    Ps256,
    /// Edwards curves.
    #[schema(rename = "EdDSA")]
    EdDsa,
    /// The newer name of `EdDSA` on this curve (RFC 9864).
    Ed25519,
}
