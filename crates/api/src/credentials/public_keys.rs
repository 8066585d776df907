//! What the document says of a client's public keys. What is taken, and what is kept of it, is
//! decided in `domain::public_key_set`.

use utoipa::ToSchema;

/// Public keys (RFC 7517).
#[derive(ToSchema)]
#[expect(dead_code, reason = "stands for its schema alone")]
pub struct PublicKeySet {
    /// The keys.
    #[schema(min_items = 1)]
    keys: Vec<PublicKey>,
}

/// A public key (RFC 7517): on P-256, P-384 or Ed25519, or RSA of 2,048 to 8,192 bits. Members of
/// private keys are refused, others that do not stand here are ignored.
#[derive(ToSchema)]
#[expect(dead_code, reason = "stands for its schema alone")]
pub struct PublicKey {
    /// Its type.
    kty: KeyType,
    /// What it is for.
    #[schema(rename = "use", nullable = false)]
    purpose: Option<KeyPurpose>,
    /// The algorithm that it signs with; any that fits when absent.
    #[schema(nullable = false)]
    alg: Option<KeyAlgorithm>,
    /// Its name; each key of a set has another.
    #[schema(min_length = 1, nullable = false)]
    kid: Option<String>,
    /// Its curve, for `EC` and `OKP`.
    #[schema(nullable = false)]
    crv: Option<KeyCurve>,
    /// A point's coordinate in base64url, for `EC` and `OKP`.
    #[schema(nullable = false)]
    x: Option<String>,
    /// A point's other coordinate in base64url, for `EC`.
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
    /// On a curve of NIST.
    #[schema(rename = "EC")]
    Elliptic,
    /// On an Edwards curve.
    #[schema(rename = "OKP")]
    Edwards,
    /// RSA.
    #[schema(rename = "RSA")]
    Rsa,
}

/// What a key is for.
#[derive(ToSchema)]
pub enum KeyPurpose {
    /// Signatures.
    #[schema(rename = "sig")]
    Signatures,
}

/// A curve.
#[derive(ToSchema)]
pub enum KeyCurve {
    /// With `ES256`.
    #[schema(rename = "P-256")]
    P256,
    /// With `ES384`.
    #[schema(rename = "P-384")]
    P384,
    /// With `EdDSA`.
    Ed25519,
}

/// An algorithm of signatures.
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
    /// The same by its newer name (RFC 9864).
    Ed25519,
}
