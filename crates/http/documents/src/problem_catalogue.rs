//! The error catalogue, as JSON and as HTML.

use actix_web::{HttpRequest, HttpResponse, http::header, web::Data};
use domain::ProblemCode;
use kit::{problem::ApiError, reads::PUBLIC, state::HttpState};
use serde::Serialize;
use utoipa::ToSchema;

use crate::html::{home_link, marked_up, page, prefers_html};

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
pub async fn list_problems(state: Data<HttpState>, request: HttpRequest) -> HttpResponse {
    let entries = ProblemCode::ALL.iter().copied().map(ProblemEntry::from);
    if prefers_html(&request) {
        let base = &state.site.base_path;
        let items: String = entries.map(|entry| item(base, &entry)).collect();
        let body = format!(
            "<p class=\"muted\">The <code>code</code> of each error, with its HTTP status, its meaning \
             and what to do.</p><ul class=\"list\">{items}</ul>"
        );
        return page(&home_link(base), "Problems", &body);
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
pub async fn get_problem(
    state: Data<HttpState>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let slug = request.match_info().query("code");
    let code = ProblemCode::ALL
        .iter()
        .copied()
        .find(|code| code.as_str() == slug);
    let entry = ProblemEntry::from(code.ok_or(ProblemCode::RouteNotFound)?);
    if prefers_html(&request) {
        let base = &state.site.base_path;
        let links = home_link(base) + &format!("<a href=\"{base}/problems\">All problems</a>");
        let code = format!("<code>{}</code>", entry.code.as_str());
        let body = format!("{}<p>{}</p>", facts(&code, &entry), marked_up(entry.remedy));
        return Ok(page(&links, entry.title, &body));
    }
    Ok(HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, PUBLIC))
        .insert_header((header::VARY, "Accept"))
        .json(entry))
}

/// Returns a problem as an item of the list.
fn item(base: &str, entry: &ProblemEntry) -> String {
    let code = entry.code.as_str();
    let link = format!("<a href=\"{base}/problems/{code}\"><code>{code}</code></a>");
    format!(
        "<li id=\"{code}\">{}<p>{}</p><p class=\"muted\">{}</p></li>",
        facts(&link, entry),
        marked_up(entry.title),
        marked_up(entry.remedy)
    )
}

/// Returns a line with a code, its status and whether the request can be repeated.
fn facts(code: &str, entry: &ProblemEntry) -> String {
    let again = if entry.retryable {
        " <span class=\"muted\">the same request can succeed later</span>"
    } else {
        ""
    };
    format!(
        "<p class=\"facts\">{code} <span class=\"badge\">{}</span>{again}</p>",
        entry.status
    )
}
