//! Files that users send: their names, and their types, which the content decides.

mod accepted_types;
mod disposition;
mod judge;
mod media_type;
mod name;
mod signature;
mod text_check;

pub use accepted_types::{AcceptedTypes, UnacceptableTypes};
pub use judge::{FileRefusal, TypeJudge};
pub use media_type::{FileKind, FileKinds, MediaType};
pub use name::FileName;
