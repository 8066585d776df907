//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-BKLs-obU.js", include_bytes!("assets/feed-BKLs-obU.js")),
    ("assets/index-Byp_kB2o.js", include_bytes!("assets/index-Byp_kB2o.js")),
    ("assets/index-CDBAY11W.css", include_bytes!("assets/index-CDBAY11W.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
