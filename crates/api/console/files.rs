//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-iq7p0APn.js", include_bytes!("assets/feed-iq7p0APn.js")),
    ("assets/index-C_QWtAen.css", include_bytes!("assets/index-C_QWtAen.css")),
    ("assets/index-D3-Lwln9.js", include_bytes!("assets/index-D3-Lwln9.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
