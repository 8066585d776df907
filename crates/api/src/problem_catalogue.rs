//! The error catalogue, as JSON and as HTML.

use actix_web::{HttpRequest, HttpResponse, http::header};
use domain::ProblemCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    documents::PUBLIC,
    html::{page, prefers_html},
    problem::ApiError,
};

/// One entry of the error catalogue.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProblemEntry {
    /// The code.
    code: ProblemCode,
    /// The HTTP status.
    status: u16,
    /// The meaning of the code.
    title: &'static str,
    /// The action to take.
    remedy: &'static str,
    /// True if the same request can succeed later.
    retryable: bool,
}

impl From<ProblemCode> for ProblemEntry {
    fn from(code: ProblemCode) -> Self {
        Self {
            code,
            status: code.status(),
            title: code.title(),
            remedy: code.remedy(),
            retryable: code.is_retryable(),
        }
    }
}

/// The whole error catalogue.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProblemCatalogue {
    /// All codes that the server returns.
    data: Vec<ProblemEntry>,
}

/// List all problems that this server returns.
#[utoipa::path(
    get, path = "/problems", operation_id = "list_problems", tag = "Operation",
    responses((status = 200, description = "The error catalogue.", content(
        (ProblemCatalogue = "application/json"), (String = "text/html"),
    ))),
)]
pub async fn list_problems(request: HttpRequest) -> HttpResponse {
    let entries = ProblemCode::ALL.iter().copied().map(ProblemEntry::from);
    if prefers_html(&request) {
        let rows: String = entries.map(|entry| section(&entry)).collect();
        return page("Problems", &rows);
    }
    HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, PUBLIC))
        .insert_header((header::VARY, "Accept"))
        .json(ProblemCatalogue {
            data: entries.collect(),
        })
}

/// Read the meaning of a problem code, and the action to take.
#[utoipa::path(
    get, path = "/problems/{code}", operation_id = "get_problem", tag = "Operation",
    params(("code" = ProblemCode, Path, description = "The problem's code.")),
    responses((status = 200, description = "The meaning of the code, and the action to take.", content(
        (ProblemEntry = "application/json"), (String = "text/html"),
    ))),
)]
pub async fn get_problem(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    let slug = request.match_info().query("code");
    let code = ProblemCode::ALL
        .iter()
        .copied()
        .find(|code| code.slug() == slug);
    let entry = ProblemEntry::from(code.ok_or(ProblemCode::RouteNotFound)?);
    if prefers_html(&request) {
        return Ok(page(entry.title, &section(&entry)));
    }
    Ok(HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, PUBLIC))
        .insert_header((header::VARY, "Accept"))
        .json(entry))
}

fn section(entry: &ProblemEntry) -> String {
    let code = entry.code.slug();
    let again = if entry.retryable {
        "The same request can succeed later."
    } else {
        ""
    };
    format!(
        "<section id=\"{code}\"><h2><code>{code}</code> · {}</h2><p>{}</p><p>{} {again}</p></section>",
        entry.status, entry.title, entry.remedy
    )
}
