//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-CWpe-bMF.js", include_bytes!("assets/feed-CWpe-bMF.js")),
    ("assets/index-BFO1xszX.css", include_bytes!("assets/index-BFO1xszX.css")),
    ("assets/index-TmnGkFym.js", include_bytes!("assets/index-TmnGkFym.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
