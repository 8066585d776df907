//! Parts of messages that are files.

use application::chat::FilePart;
use domain::{FaultCode, InputFault};
use serde_json::Value;

use crate::file_parts::{Address, FileParts, OwnFile};

/// Returns whether a part is a file. `binary` is that of clients before 1.0.
pub(super) fn is_file(part: &Value) -> bool {
    let kind = part["type"].as_str();
    let is_known = |kind| matches!(kind, "image" | "audio" | "video" | "document" | "binary");
    kind.is_some_and(is_known)
}

/// Takes the files out of the content of a message at `pointer`.
pub(super) fn take_files(
    content: &mut Value,
    pointer: &str,
    own_file: OwnFile<'_>,
) -> Result<FileParts, InputFault> {
    let mut files = FileParts::default();
    let parts = content.as_array_mut().into_iter().flatten();
    for (index, part) in parts.enumerate().filter(|(_, part)| is_file(part)) {
        let place = format!("{pointer}/{index}");
        if part["type"] == "binary" {
            add_binary(&mut files, &place, part, own_file)?;
        } else {
            add_source(&mut files, &place, part, own_file)?;
        }
    }
    Ok(files)
}

/// Adds the source of a part.
fn add_source(
    files: &mut FileParts,
    place: &str,
    part: &mut Value,
    own_file: OwnFile<'_>,
) -> Result<(), InputFault> {
    let name = part.get_mut("metadata").and_then(|it| text(it, "filename"));
    let source = part.get_mut("source");
    let source = source.ok_or_else(|| required(format!("{place}/source")))?;
    let kind = text(source, "type").unwrap_or_default();
    let media_type = text(source, "mimeType");
    let value = text(source, "value");
    let value_place = format!("{place}/source/value");
    let value = value.ok_or_else(|| required(value_place.clone()))?;
    match &*kind {
        "data" => {
            let data = FilePart::Data {
                media_type,
                name,
                base64: value,
            };
            files.push(value_place, data);
            Ok(())
        }
        "url" => {
            let address = Address {
                url: value,
                media_type,
                name,
            };
            files.push_address(value_place, address, own_file)
        }
        "file" => add_id(files, value_place, &value),
        _ => {
            let detail = "must be 'data', 'url' or 'file'";
            let place = format!("{place}/source/type");
            Err(InputFault::new(place, FaultCode::UnknownValue, detail))
        }
    }
}

/// Adds a part of the form before 1.0.
fn add_binary(
    files: &mut FileParts,
    place: &str,
    part: &mut Value,
    own_file: OwnFile<'_>,
) -> Result<(), InputFault> {
    let media_type = text(part, "mimeType");
    let name = text(part, "filename");
    if let Some(base64) = text(part, "data") {
        let data = FilePart::Data {
            media_type,
            name,
            base64,
        };
        files.push(format!("{place}/data"), data);
        return Ok(());
    }
    if let Some(url) = text(part, "url") {
        let address = Address {
            url,
            media_type,
            name,
        };
        return files.push_address(format!("{place}/url"), address, own_file);
    }
    let place = format!("{place}/id");
    let id = text(part, "id").ok_or_else(|| required(place.clone()))?;
    add_id(files, place, &id)
}

fn add_id(files: &mut FileParts, place: String, id: &str) -> Result<(), InputFault> {
    let unknown = |_malformed| {
        let detail = "must be the id of a file of this service";
        InputFault::new(&*place, FaultCode::UnknownValue, detail)
    };
    let id = id.parse().map_err(unknown)?;
    files.push(place, FilePart::Stored(id));
    Ok(())
}

/// Takes the text out of a member.
fn text(value: &mut Value, name: &str) -> Option<String> {
    match value.get_mut(name)?.take() {
        Value::String(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

fn required(place: String) -> InputFault {
    InputFault::new(place, FaultCode::Required, "required")
}
