//! The requests of the hostile tenant.

use serde_json::{Value, json};

/// The characters of the longest message.
const MESSAGE_CHARACTERS: usize = 31_999;
/// The rules of an agent.
const RULES: usize = 200;
/// The characters of a long reply, and the number of such replies in an agent of 240 KiB.
const REPLY_CHARACTERS: usize = 7_900;
const REPLIES: usize = 31;
/// The number of faults in a body of 256 KiB.
const FAULTS: usize = 32_000;
/// The bytes of an RSA modulus of 8192 bits, the largest that is accepted.
const MODULUS_BYTES: usize = 1_024;
const KEYS: u8 = 10;

/// A tool server that accepts the connection and then sends requests without end.
pub(super) const FLOODING_SERVER: &str = r#"read -r line
id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"flood","version":"1"}}}\n' "$id"
read -r line
read -r line
id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}\n' "$id"
sleep 8
text=$(head -c 10000 /dev/zero | tr '\0' x)
exec yes '{"jsonrpc":"2.0","id":"flood","method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"'"$text"'"}}],"maxTokens":1}}'
"#;

/// An agent whose rules are slow to compile and to search; they differ by `number`.
pub(super) fn slow_rules(number: u32) -> Value {
    // A literal would let the search fail at once.
    let pattern = format!(r"(?-i)(?:[ab]\b?){{0,{}}}[0-9]", 300 - number);
    let rules = vec![json!({ "pattern": pattern, "reply": "found" }); RULES];
    json!({ "name": format!("Rules {number}"), "config": { "engine": "rules", "rules": rules } })
}

/// A random message of two letters.
pub(super) fn long_message() -> String {
    let mut state = 0x2545_f491_u32;
    let letters = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        if state & 1 == 0 { 'a' } else { 'b' }
    });
    letters.take(MESSAGE_CHARACTERS).collect()
}

/// An agent of 240 KiB.
pub(super) fn large_agent(number: usize) -> Value {
    let reply = "x".repeat(REPLY_CHARACTERS);
    let rule = |rule| json!({ "keywords": [format!("word{rule}")], "reply": reply });
    let rules: Vec<Value> = (0..REPLIES).map(rule).collect();
    json!({ "name": format!("Large {number}"), "config": { "engine": "rules", "rules": rules } })
}

/// An agent with a fault in each of its rules.
pub(super) fn faulty_agent() -> Value {
    let rules = vec![json!({ "z": 1 }); FAULTS];
    json!({ "name": "Faulty", "config": { "rules": rules } })
}

/// Public keys with the slowest signature check.
pub(super) fn ten_keys() -> Value {
    let key = |number: u8| {
        let mut modulus = vec![0xa5; MODULUS_BYTES];
        // A modulus is odd.
        modulus[MODULUS_BYTES - 1] = 2 * number + 1;
        json!({ "kty": "RSA", "alg": "RS256", "n": base64(&modulus), "e": "AQAB" })
    };
    json!({ "keys": (0..KEYS).map(key).collect::<Vec<_>>() })
}

/// A token request whose assertion names no key, so that all keys are tried.
pub(super) fn assertion_form(client: &str) -> String {
    let header = base64(br#"{"alg":"RS256"}"#);
    let claims = json!({ "iss": client, "sub": client, "jti": "1", "exp": 4_000_000_000_u64 });
    let claims = base64(claims.to_string().as_bytes());
    let signature = base64(&[0x5a; MODULUS_BYTES]);
    format!(
        "grant_type=client_credentials\
         &client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer\
         &client_assertion={header}.{claims}.{signature}"
    )
}

/// Base64 for URLs, without padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let mut bits = 0_usize;
        for turn_ref in 0..3 {
            bits = bits << 8 | usize::from(group.get(turn_ref).copied().unwrap_or_default());
        }
        for turn_ref in 0..=group.len() {
            let index = bits >> (18 - 6 * turn_ref) & 63;
            text.push(char::from(ALPHABET[index]));
        }
    }
    text
}
