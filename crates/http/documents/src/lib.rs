//! The published documents (OpenAPI and AsyncAPI), their pages, the catalogue of problems, and the
//! console.

pub mod asyncapi;
mod console;
mod html;
pub mod openapi;
pub mod problem_catalogue;
pub mod published;
mod state;
mod static_content;
mod surfaces;

use kit::operations::{Access::Public, Served::Here};

pub use console::{Console, configure_console};
pub use published::{Documents, configure_docs};
pub use state::DocumentState;
pub use surfaces::SURFACES;

kit::operations! {
    get "/openapi.json" published::get_openapi Public; served = Here, versioned;
    get "/asyncapi.json" published::get_asyncapi Public; served = Here, versioned;
    get "/problems" problem_catalogue::list_problems Public; served = Here;
    get "/problems/{code}" problem_catalogue::get_problem Public; served = Here;
    get "/" published::get_console Public; served = Here;
}
