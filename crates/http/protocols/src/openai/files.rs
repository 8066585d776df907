//! Parts of messages that are files: pictures, sound, and documents.

use application::chat::FilePart;
use domain::{FaultCode, InputFault};
use serde_json::Value;

use crate::file_parts::{Address, FileParts, OwnFile};

/// Returns whether a part is a file.
pub(super) fn is_file(part: &Value) -> bool {
    let kind = part["type"].as_str();
    matches!(kind, Some("image_url" | "input_audio" | "file"))
}

/// Takes the file out of a part at `place`, and adds it.
pub(super) fn add_file(
    files: &mut FileParts,
    place: &str,
    part: &mut Value,
    own_file: OwnFile<'_>,
) -> Result<(), InputFault> {
    match part["type"].as_str() {
        Some("image_url") => {
            let address = Address {
                url: required(part, "image_url", "url", place)?,
                media_type: None,
                name: None,
            };
            files.push_address(format!("{place}/image_url/url"), address, own_file)
        }
        Some("input_audio") => {
            let base64 = required(part, "input_audio", "data", place)?;
            let format = text(part, "input_audio", "format").unwrap_or_default();
            let format = if format == "mp3" { "mpeg" } else { &format };
            let data = FilePart::Data {
                media_type: Some(format!("audio/{format}")),
                name: None,
                base64,
            };
            files.push(format!("{place}/input_audio/data"), data);
            Ok(())
        }
        _ => add_document(files, place, part, own_file),
    }
}

fn add_document(
    files: &mut FileParts,
    place: &str,
    part: &mut Value,
    own_file: OwnFile<'_>,
) -> Result<(), InputFault> {
    if let Some(id) = text(part, "file", "file_id") {
        let place = format!("{place}/file/file_id");
        let unknown = |_malformed| {
            let detail = "must be the id of a file of this service";
            InputFault::new(&*place, FaultCode::UnknownValue, detail)
        };
        let id = id.parse().map_err(unknown)?;
        files.push(place, FilePart::Stored(id));
        return Ok(());
    }
    let data = required(part, "file", "file_data", place)?;
    let name = text(part, "file", "filename");
    let place = format!("{place}/file/file_data");
    if data.contains(':') {
        let address = Address {
            url: data,
            media_type: None,
            name,
        };
        return files.push_address(place, address, own_file);
    }
    let data = FilePart::Data {
        media_type: None,
        name,
        base64: data,
    };
    files.push(place, data);
    Ok(())
}

/// Takes the text out of a member of a part.
fn text(part: &mut Value, member: &str, name: &str) -> Option<String> {
    match part.get_mut(member)?.get_mut(name)?.take() {
        Value::String(text) => Some(text),
        _ => None,
    }
}

fn required(part: &mut Value, member: &str, name: &str, place: &str) -> Result<String, InputFault> {
    let found = text(part, member, name).filter(|text| !text.is_empty());
    found.ok_or_else(|| {
        let pointer = format!("{place}/{member}/{name}");
        InputFault::new(pointer, FaultCode::Required, "required")
    })
}
