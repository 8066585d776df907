//! The minimal actix-web server: a JSON body of a given size.
//!
//! `cargo xtask bench` compares the service with it, so it uses the same version of the framework,
//! allocator, build profile and number of workers.
//!
//! Arguments: the number of workers, and the size of a body in bytes.

#![expect(clippy::print_stdout, reason = "the caller reads the address there")]

use std::{io, net::TcpListener};

use actix_web::{
    App, HttpResponse, HttpServer,
    web::{self, Data},
};
use serde::Serialize;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The body of every response.
#[derive(Serialize)]
struct Hello {
    message: String,
}

impl Hello {
    /// Creates a body of `bytes` bytes.
    fn with_size(bytes: usize) -> Self {
        let frame = r#"{"message":""}"#.len();
        Self {
            message: "h".repeat(bytes.saturating_sub(frame)),
        }
    }
}

async fn hello(hello: Data<Hello>) -> HttpResponse {
    HttpResponse::Ok().json(&**hello)
}

#[actix_web::main]
async fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().and_then(|text| text.parse().ok());
    let (Some(workers), Some(bytes)) = (number(), number()) else {
        return Err(io::Error::other(
            "usage: bare_hello <workers> <bytes of a body>",
        ));
    };
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let body = Data::new(Hello::with_size(bytes));
    let server = HttpServer::new(move || {
        App::new()
            .app_data(body.clone())
            .route("/", web::get().to(hello))
    })
    .workers(workers)
    .listen(listener)?
    .run();
    println!("listening on http://{address}");
    server.await
}
