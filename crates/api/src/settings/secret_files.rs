//! Secrets in files: `<NAME>_FILE` is the path of a file with the value of the setting `<NAME>`, as
//! Docker and Kubernetes mount secrets.

use std::{collections::BTreeMap, fs::File, io::Read as _};

use super::{error::InvalidSetting, key::is_variable_of, values::RawValue};

/// The settings that are secret or contain secrets.
const SECRETS: &[&str] = &[
    "DATABASE_URL",
    "BUS__URL",
    "REGION__KEY",
    "REGIONS__<ID>__KEYS",
    "AUTH__BOOTSTRAP_KEY",
    "AUTH__ENCRYPTION_KEY",
    "LLM__API_KEY",
    "LLM__PROXY",
    "LLM__PROVIDERS__<ID>__API_KEY",
    "MCP__SERVERS__<ID>__ENV",
    "MCP__SERVERS__<ID>__HEADERS__<HEADER>",
];
const SUFFIX: &str = "_FILE";
/// The maximum size of a file; more than any setting needs.
const MAX_BYTES: u64 = 64 * 1024;

/// Returns the variable of the setting whose file a variable names.
pub(super) fn secret_of(variable: &str) -> Option<&str> {
    let secret = variable.strip_suffix(SUFFIX)?;
    let is_secret = SECRETS.iter().any(|known| is_variable_of(known, secret));
    is_secret.then_some(secret)
}

/// Replaces the paths of files by the values of their settings.
pub(super) fn read_files(
    values: &mut BTreeMap<String, RawValue>,
    invalid: &mut Vec<InvalidSetting>,
) {
    let named: Vec<_> = values
        .extract_if(.., |variable, _| secret_of(variable).is_some())
        .collect();
    for (variable, path) in named {
        let Some(secret) = secret_of(&variable).map(str::to_owned) else {
            continue;
        };
        let content = if values.contains_key(&secret) {
            Err(format!("set only without {secret}"))
        } else {
            read(path.text.as_deref().unwrap_or_default())
        };
        match content {
            Ok(content) => {
                let text = Some(content);
                let file_key = path.file_key;
                values.insert(secret, RawValue { text, file_key });
            }
            Err(expected) => invalid.push(InvalidSetting::BadValue {
                variable,
                file_key: path.file_key,
                expected,
            }),
        }
    }
}

/// Reads the value in a file. Editors and `echo` end it with a line feed, which is not part of it.
fn read(path: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let file = File::open(path);
    file.and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| format!("the path of a file that can be read ({})", error.kind()))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err("the path of a file of at most 64 KiB".to_owned());
    }
    let text = String::from_utf8(bytes);
    let mut text = text.map_err(|_error| "the path of a file of UTF-8 text".to_owned())?;
    if text.ends_with('\n') {
        text.pop();
    }
    if text.is_empty() {
        return Err("the path of a file that is not empty".to_owned());
    }
    Ok(text)
}
