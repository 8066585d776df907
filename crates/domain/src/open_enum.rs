//! Values that a newer version of the service, which runs beside this one, may extend.

use std::fmt;

/// A text of at most `MAX` bytes, without an allocation, so that an enum with it is `Copy`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShortText<const MAX: usize> {
    bytes: [u8; MAX],
    length: u8,
}

impl<const MAX: usize> ShortText<MAX> {
    /// Copies a text. The end of a longer one is cut off: it must not make a page unreadable.
    pub fn new(text: &str) -> Self {
        let length = text.floor_char_boundary(MAX);
        let mut bytes = [0; MAX];
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        Self {
            bytes,
            // Open enums have shorter texts than 256 bytes.
            length: u8::try_from(length).unwrap_or_default(),
        }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        let text = std::str::from_utf8(&self.bytes[..usize::from(self.length)]);
        // It was cut at a character's boundary.
        text.unwrap_or_default()
    }
}

impl<const MAX: usize> fmt::Debug for ShortText<MAX> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(formatter)
    }
}

/// Defines an enum of texts that keeps a text which it does not know, as its last variant `Other`.
/// That text is stored and sent as it was read, and has no other effect. No value, also of later
/// versions, may be longer than the number of bytes in brackets.
macro_rules! open_enum {
    ($(#[doc = $about:literal])+ $name:ident[$max:literal] {
        $($(#[doc = $doc:expr])* $variant:ident = $text:literal,)*
    }) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[doc = $doc])* $variant,)*
            /// A value that this version does not know: a newer one has written it.
            Other($crate::open_enum::ShortText<$max>),
        }

        impl $name {
            /// Every value that this version knows.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The length of the longest value, also of later versions.
            pub const MAX_BYTES: usize = $max;

            /// Returns the text in stores and in the API.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(text) => text.as_str(),
                }
            }

            /// Returns the text for use after the value; only an unknown one is allocated.
            pub fn text(self) -> std::borrow::Cow<'static, str> {
                match self {
                    $(Self::$variant => $text.into(),)*
                    Self::Other(text) => text.as_str().to_owned().into(),
                }
            }

            /// Returns the value of a text that this version knows.
            pub fn known(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Returns the value of a stored text.
            pub fn read(text: &str) -> Self {
                let other = || Self::Other($crate::open_enum::ShortText::new(text));
                Self::known(text).unwrap_or_else(other)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let read = $crate::open_enum::TextVisitor(Self::read);
                deserializer.deserialize_str(read)
            }
        }

        // The published enum consists of the known values.
        #[cfg(feature = "schema")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                let known = Self::ALL.iter().map(Self::as_str);
                $crate::open_enum::schema(concat!($($about),+).trim(), known)
            }
        }

        #[cfg(feature = "schema")]
        impl utoipa::ToSchema for $name {}
    };
}

pub(crate) use open_enum;

/// Reads a value from a text, without an allocation.
pub(crate) struct TextVisitor<T>(pub(crate) fn(&str) -> T);

impl<T> serde::de::Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        Ok(self.0(text))
    }
}

/// Returns the schema of a text that is one of `values`.
#[cfg(feature = "schema")]
pub(crate) fn schema<'a>(
    description: &str,
    values: impl Iterator<Item = &'a str>,
) -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
    use utoipa::openapi::schema::{ObjectBuilder, Type};
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(description))
        .enum_values(Some(values))
        .build()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EventType, FaultCode, FinishReason, MediaType, ProblemCode, Role, ToolVisibility};

    #[test]
    fn known_values_survive_and_are_short() {
        macro_rules! check {
            ($($name:ident)*) => {
                $(for value in $name::ALL {
                    assert_eq!($name::known(value.as_str()), Some(*value));
                    let json = serde_json::to_value(value).unwrap();
                    assert_eq!(serde_json::from_value::<$name>(json).unwrap(), *value);
                    assert!(value.as_str().len() <= $name::MAX_BYTES);
                })*
            };
        }
        check!(EventType FaultCode FinishReason MediaType ProblemCode Role ToolVisibility);
    }

    #[test]
    fn an_unknown_value_is_kept_as_it_is() {
        let read: Role = serde_json::from_str("\"\\u0073taff\"").unwrap();
        assert_eq!(read.as_str(), "staff");
        assert_eq!(read, Role::read("staff"));
        assert_eq!(Role::known("staff"), None);
        assert_eq!(serde_json::to_string(&read).unwrap(), "\"staff\"");
        assert_eq!(format!("{read:?}"), "Other(\"staff\")");
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_between_characters() {
        let long = format!("{}éé", "x".repeat(30));
        assert_eq!(ShortText::<31>::new(&long).as_str(), &long[..30]);
    }
}
