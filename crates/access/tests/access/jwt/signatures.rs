//! Verification of signatures.

use access::jwt::{
    KeyBounds, SignatureAlgorithm,
    SignatureAlgorithm::{EdDsa, Es256, Es384, Ps256, Rs256},
    SignatureCheck, UnverifiedToken, VerifyingKey, VerifyingKeys,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, EncodingKey, crypto};
use serde_json::{Value, json};

use crate::key_with_id::KeyWithId;

const ALL: &[SignatureAlgorithm] = SignatureAlgorithm::ALL;

fn verifying_key(key: &KeyWithId) -> VerifyingKey {
    VerifyingKey::from_jwk(&key.public()).expect("a key that verifies")
}

fn verifies(text: &str, key: &VerifyingKey, allowed: &[SignatureAlgorithm]) -> bool {
    let token = UnverifiedToken::parse(text).expect("a token of the right form");
    token.verify(key, allowed).is_some()
}

#[test]
fn a_token_is_verified_only_by_the_key_that_signed_it() {
    let keys: Vec<KeyWithId> = ALL.iter().map(|it| KeyWithId::new(*it, "a")).collect();
    for (signer, algorithm) in keys.iter().zip(ALL) {
        let text = signer.sign(&json!({"sub": "ada"}));
        for (other, key) in keys.iter().enumerate() {
            let is_signer = std::ptr::eq(signer, &raw const *key);
            assert_eq!(
                verifies(&text, &verifying_key(key), ALL),
                is_signer,
                "{algorithm} by key {other}"
            );
        }
        let same_type = verifying_key(&KeyWithId::new(*algorithm, "a"));
        assert!(!verifies(&text, &same_type, ALL), "{algorithm}");
    }
}

#[test]
fn verification_returns_the_signed_claims() {
    let key = KeyWithId::new(Es256, "a");
    let text = key.sign(&json!({"sub": "ada", "aud": ["b"]}));
    let token = UnverifiedToken::parse(&text).unwrap();
    let claims = token.verify(&verifying_key(&key), ALL).unwrap();
    assert_eq!(claims.text("sub"), Some("ada"));
    assert_eq!(claims.audiences(), ["b"]);
}

#[test]
fn an_algorithm_that_is_not_allowed_is_rejected() {
    let key = KeyWithId::new(Es256, "a");
    let text = key.sign(&json!({}));
    assert!(verifies(&text, &verifying_key(&key), &[Rs256, Es256]));
    assert!(!verifies(&text, &verifying_key(&key), &[Rs256, EdDsa]));
    assert!(!verifies(&text, &verifying_key(&key), &[]));
}

#[test]
fn a_key_verifies_only_the_algorithm_that_its_owner_specifies() {
    let key = KeyWithId::new(Rs256, "a");
    let mut public = key.public();
    public["alg"] = json!("PS256");
    let for_pss = VerifyingKey::from_jwk(&public).unwrap();
    public.as_object_mut().unwrap().remove("alg");
    let for_both = VerifyingKey::from_jwk(&public).unwrap();
    let by_pkcs1 = key.sign(&json!({}));
    let by_pss = key.by(Ps256).sign(&json!({}));
    assert!(!verifies(&by_pkcs1, &for_pss, ALL));
    assert!(verifies(&by_pss, &for_pss, ALL));
    assert!(verifies(&by_pkcs1, &for_both, ALL));
    assert!(verifies(&by_pss, &for_both, ALL));
    assert!(!verifies(&by_pss, &for_both, &[Rs256]));
}

#[test]
fn a_public_key_is_not_accepted_as_a_shared_secret() {
    let key = KeyWithId::new(Rs256, "a");
    let public = key.public();
    let modulus = public["n"].as_str().unwrap();
    let secrets = [
        public.to_string().into_bytes(),
        modulus.as_bytes().to_vec(),
        URL_SAFE_NO_PAD.decode(modulus).unwrap(),
    ];
    for secret in secrets {
        let header = URL_SAFE_NO_PAD.encode(json!({"alg": "HS256", "kid": "a"}).to_string());
        let signed = format!("{header}.{}", URL_SAFE_NO_PAD.encode("{}"));
        let secret = EncodingKey::from_secret(&secret);
        let signature = crypto::sign(signed.as_bytes(), &secret, Algorithm::HS256).unwrap();
        assert!(UnverifiedToken::parse(&format!("{signed}.{signature}")).is_none());
        // The same signature is rejected under an accepted algorithm name as well.
        let signed = key.sign(&json!({}));
        let (signed, _) = signed.rsplit_once('.').unwrap();
        assert!(!verifies(
            &format!("{signed}.{signature}"),
            &verifying_key(&key),
            ALL
        ));
    }
}

#[test]
fn a_token_without_a_signature_is_rejected() {
    let key = KeyWithId::new(Es256, "a");
    let text = key.sign(&json!({}));
    let (signed, _) = text.rsplit_once('.').unwrap();
    for signature in ["", "AA", "===", &"A".repeat(86)] {
        assert!(!verifies(
            &format!("{signed}.{signature}"),
            &verifying_key(&key),
            ALL
        ));
    }
}

#[test]
fn a_token_changed_after_signing_is_rejected() {
    let key = KeyWithId::new(EdDsa, "a");
    let text = key.sign(&json!({"sub": "ada"}));
    let verifying_key = verifying_key(&key);
    let mut read = 0;
    for at in (0..text.len()).filter(|at| text.as_bytes()[*at] != b'.') {
        let other = if text.as_bytes()[at] == b'A' {
            "B"
        } else {
            "A"
        };
        let mut changed = text.clone();
        changed.replace_range(at..=at, other);
        if let Some(token) = UnverifiedToken::parse(&changed) {
            read += 1;
            assert!(
                token.verify(&verifying_key, ALL).is_none(),
                "character {at}"
            );
        }
    }
    assert!(
        read > 86,
        "each character of the signature at least: {read}"
    );
}

#[test]
fn keys_and_addresses_in_the_header_are_ignored() {
    let (own, external) = (KeyWithId::new(Es256, "a"), KeyWithId::new(Es256, "a"));
    let header = json!({
        "jwk": external.public(),
        "jku": "https://attacker.example/keys",
        "x5u": "https://attacker.example/certificate",
        "x5c": ["MIIB"],
    });
    let forged = external.sign_with_header(&header, &json!({}));
    assert!(!verifies(&forged, &verifying_key(&own), ALL));
    let honest = own.sign_with_header(&header, &json!({}));
    assert!(verifies(&honest, &verifying_key(&own), ALL));
}

/// Checks a token with a set of these keys.
fn check(keys: &[Value], text: &str) -> SignatureCheck {
    check_within(KeyBounds::OPERATOR, keys, text)
}

fn check_within(bounds: KeyBounds, keys: &[Value], text: &str) -> SignatureCheck {
    let keys = VerifyingKeys::from_jwk_set(&json!({"keys": keys}), bounds).expect("a key set");
    keys.check_signature(&UnverifiedToken::parse(text).expect("a token"), ALL)
}

#[test]
fn a_set_uses_the_key_with_the_key_id_of_the_token() {
    let (first, second) = (KeyWithId::new(Es256, "a"), KeyWithId::new(Es256, "b"));
    let keys = [first.public(), second.public()];
    let text = second.sign(&json!({}));
    assert!(matches!(check(&keys, &text), SignatureCheck::Valid(_)));
    assert_eq!(check(&keys[..1], &text), SignatureCheck::UnknownKey);
    let under_a_wrong_name = second.sign_with_header(&json!({"kid": "a"}), &json!({}));
    assert_eq!(check(&keys, &under_a_wrong_name), SignatureCheck::Invalid);
}

#[test]
fn null_in_a_key_counts_as_absent() {
    let signer = KeyWithId::new(Es256, "signer").without_id();
    let text = signer.sign(&json!({}));
    let optional = ["kid", "use", "alg", "key_ops", "x5c", "d"];
    let mut key = signer.public();
    for name in optional {
        key[name] = Value::Null;
    }
    assert!(matches!(check(&[key], &text), SignatureCheck::Valid(_)));
}

#[test]
fn a_set_may_have_keys_of_several_types_with_one_id() {
    let (first, second) = (KeyWithId::new(Es384, "a"), KeyWithId::new(Es256, "a"));
    let keys = [first.public(), second.public()];
    for key in [first, second] {
        assert!(matches!(
            check(&keys, &key.sign(&json!({}))),
            SignatureCheck::Valid(_)
        ));
    }
}

#[test]
fn for_a_token_without_a_key_id_eight_matching_keys_are_tried() {
    let signer = KeyWithId::new(Es256, "signer").without_id();
    let text = signer.sign(&json!({}));
    let others = |algorithm, count: usize| -> Vec<Value> {
        let names = (0..count).map(|number| number.to_string());
        names
            .map(|name| KeyWithId::new(algorithm, &name).public())
            .collect()
    };
    let mut keys = [others(EdDsa, 20), others(Es256, 7), vec![signer.public()]].concat();
    assert!(matches!(check(&keys, &text), SignatureCheck::Valid(_)));
    keys.splice(0..0, others(Es256, 1));
    assert_eq!(check(&keys, &text), SignatureCheck::UnknownKey);
}

#[test]
fn two_matching_keys_of_a_tenant_are_tried() {
    let key = || KeyWithId::new(Es256, "same");
    for (signer, others) in [(key().without_id(), key().without_id()), (key(), key())] {
        let text = signer.sign(&json!({}));
        let proven = |keys: &[&KeyWithId]| {
            let keys: Vec<_> = keys.iter().map(|key| key.public()).collect();
            let check = check_within(KeyBounds::TENANT, &keys, &text);
            matches!(check, SignatureCheck::Valid(_))
        };
        assert!(proven(&[&others, &signer]));
        assert!(!proven(&[&others, &others, &signer]));
    }
}

#[test]
fn a_set_is_read_up_to_its_maximum_number_of_keys() {
    let signer = KeyWithId::new(Es256, "signer");
    let text = signer.sign(&json!({}));
    let token = UnverifiedToken::parse(&text).unwrap();
    let unread = json!({"kty": "oct", "k": "c2VjcmV0", "kid": "signer"});
    for (others, is_accepted) in [(9, true), (10, false)] {
        let keys = [vec![unread.clone(); others], vec![signer.public()]].concat();
        let keys = VerifyingKeys::from_jwk_set(&json!({"keys": keys}), KeyBounds::TENANT).unwrap();
        let check = keys.check_signature(&token, SignatureAlgorithm::ALL);
        assert_eq!(matches!(check, SignatureCheck::Valid(_)), is_accepted);
        assert_eq!(check == SignatureCheck::UnknownKey, !is_accepted);
    }
}

#[test]
fn a_token_may_use_either_name_of_ed25519() {
    let signer = KeyWithId::new(EdDsa, "signer");
    for (alg, verifies) in [("EdDSA", true), ("Ed25519", true), ("Ed448", false)] {
        let text = signer.sign_with_header(&json!({"alg": alg}), &json!({}));
        let check = UnverifiedToken::parse(&text).map(|_| check(&[signer.public()], &text));
        let proven = matches!(check, Some(SignatureCheck::Valid(_)));
        assert_eq!((proven, check.is_some()), (verifies, verifies), "{alg}");
    }
}
