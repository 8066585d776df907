//! The declaration of statements.

/// Declares statements: those of a file, or those of a trait, which each store implements. The
/// constant `STATEMENTS` lists all of them, for the test that prepares every statement.
#[macro_export]
macro_rules! statements {
    ($($(#[$doc:meta])* const $name:ident: &'static str;)*) => {
        $($(#[$doc])* const $name: &'static str;)*

        /// All statements.
        const STATEMENTS: &'static [&'static str] = &[$(Self::$name),*];
    };
    ($($(#[$doc:meta])* $visibility:vis const $name:ident: &str = $text:expr;)*) => {
        $($(#[$doc])* $visibility const $name: &str = $text;)*

        /// The statements of this file.
        pub(crate) const STATEMENTS: &[&str] = &[$($name),*];
    };
}
