//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-DcMT0TFC.js", include_bytes!("assets/feed-DcMT0TFC.js")),
    ("assets/index-CDBAY11W.css", include_bytes!("assets/index-CDBAY11W.css")),
    ("assets/index-i-HM9U1A.js", include_bytes!("assets/index-i-HM9U1A.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
