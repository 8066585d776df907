//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-BIIw7-fp.js", include_bytes!("assets/feed-BIIw7-fp.js")),
    ("assets/index-BzXVKFfd.css", include_bytes!("assets/index-BzXVKFfd.css")),
    ("assets/index-D6hs2NdT.js", include_bytes!("assets/index-D6hs2NdT.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
