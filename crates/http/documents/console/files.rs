//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-DMhEnhuG.js", include_bytes!("assets/feed-DMhEnhuG.js")),
    ("assets/index-CNv-9ety.js", include_bytes!("assets/index-CNv-9ety.js")),
    ("assets/index-CoOxEpxp.css", include_bytes!("assets/index-CoOxEpxp.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
