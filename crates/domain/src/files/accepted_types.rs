//! The types of files that the operator accepts.

use std::str::FromStr;

use super::MediaType;

/// The accepted media types: all that the service knows, unless a setting names some of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedTypes(Vec<MediaType>);

/// The error for a setting that does not narrow the accepted types.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnacceptableTypes {
    /// The list names a type that the service does not know.
    #[error("`{0}` is not one of the media types that can be accepted: {list}", list = MediaType::ALL.iter().map(MediaType::as_str).collect::<Vec<_>>().join(", "))]
    Unknown(String),
    /// The list is empty.
    #[error("must name at least one media type")]
    Empty,
}

impl AcceptedTypes {
    /// Returns `true` if files of this type are accepted.
    pub fn contains(&self, media_type: MediaType) -> bool {
        self.0.contains(&media_type)
    }

    /// The accepted types, in the order of [`MediaType::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = MediaType> {
        self.0.iter().copied()
    }
}

impl Default for AcceptedTypes {
    fn default() -> Self {
        Self(MediaType::ALL.to_vec())
    }
}

/// Reads media types separated by commas, in any case.
impl FromStr for AcceptedTypes {
    type Err = UnacceptableTypes;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let names = text.split(',').map(str::trim).filter(|it| !it.is_empty());
        let read = |name: &str| {
            let known = MediaType::known(&name.to_ascii_lowercase());
            known.ok_or_else(|| UnacceptableTypes::Unknown(name.to_owned()))
        };
        let mut types = names.map(read).collect::<Result<Vec<_>, _>>()?;
        if types.is_empty() {
            return Err(UnacceptableTypes::Empty);
        }
        types.sort_unstable();
        types.dedup();
        Ok(Self(types))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_narrows_the_types() {
        let narrowed: AcceptedTypes = "text/csv, IMAGE/png,image/png,".parse().unwrap();
        assert_eq!(
            narrowed.iter().collect::<Vec<_>>(),
            [MediaType::Png, MediaType::Csv]
        );
        assert!(narrowed.contains(MediaType::Png));
        assert!(!narrowed.contains(MediaType::Pdf));
        assert_eq!(AcceptedTypes::default().iter().count(), 15);
    }

    #[test]
    fn a_setting_names_known_types_only() {
        let unknown = "image/png,image/svg+xml".parse::<AcceptedTypes>();
        let name = "image/svg+xml".to_owned();
        assert_eq!(unknown, Err(UnacceptableTypes::Unknown(name)));
        assert_eq!(
            " , ".parse::<AcceptedTypes>(),
            Err(UnacceptableTypes::Empty)
        );
    }
}
