//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-BN8yuxMe.js", include_bytes!("assets/feed-BN8yuxMe.js")),
    ("assets/index-Bs7-_XgV.css", include_bytes!("assets/index-Bs7-_XgV.css")),
    ("assets/index-DICv0t7a.js", include_bytes!("assets/index-DICv0t7a.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
