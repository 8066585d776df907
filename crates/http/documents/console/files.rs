//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-De8UiT6P.js", include_bytes!("assets/feed-De8UiT6P.js")),
    ("assets/index-9_u-tNYn.js", include_bytes!("assets/index-9_u-tNYn.js")),
    ("assets/index-BzXVKFfd.css", include_bytes!("assets/index-BzXVKFfd.css")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
