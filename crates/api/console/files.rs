//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-Dhr0JOT8.js", include_bytes!("assets/feed-Dhr0JOT8.js")),
    ("assets/index-C_QWtAen.css", include_bytes!("assets/index-C_QWtAen.css")),
    ("assets/index-NaeOuUKE.js", include_bytes!("assets/index-NaeOuUKE.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
