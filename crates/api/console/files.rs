//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-CF4LA5ke.js", include_bytes!("assets/feed-CF4LA5ke.js")),
    ("assets/index-CDBAY11W.css", include_bytes!("assets/index-CDBAY11W.css")),
    ("assets/index-Dv_ZlFzq.js", include_bytes!("assets/index-Dv_ZlFzq.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
