//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-mWMvVZ6r.js", include_bytes!("assets/feed-mWMvVZ6r.js")),
    ("assets/index-BEz5y75I.js", include_bytes!("assets/index-BEz5y75I.js")),
    ("assets/index-BFO1xszX.css", include_bytes!("assets/index-BFO1xszX.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
