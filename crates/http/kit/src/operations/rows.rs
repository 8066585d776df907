//! The form in which a crate lists its operations.

/// Makes the rows of a crate's operations, and the paths of the OpenAPI document from the same
/// handlers. A row has a method, a path, a handler, the required credential, and traits.
#[macro_export]
macro_rules! operations {
    ($($method:ident $path:literal $module:ident::$handler:ident $access:expr;
        $($trait:ident $(= $value:expr)?),* ;)*) => {
        /// The operations of this crate.
        pub const OPERATIONS: &[$crate::operations::Operation] = &[$(
            $crate::operations::Operation {
                $($trait: $crate::operations!(@value $($value)?),)*
                ..$crate::operations::Operation::new(
                    stringify!($handler),
                    $crate::operations!(@method $method),
                    $path,
                    $access,
                    || actix_web::web::$method().to($module::$handler),
                )
            },
        )*];

        /// The paths of the OpenAPI document.
        #[derive(utoipa::OpenApi)]
        #[openapi(paths($($module::$handler),*))]
        pub struct Paths;
    };
    (@value) => { true };
    (@value $value:expr) => { $value };
    (@method get) => { "GET" };
    (@method post) => { "POST" };
    (@method put) => { "PUT" };
    (@method patch) => { "PATCH" };
    (@method delete) => { "DELETE" };
}
