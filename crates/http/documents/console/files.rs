//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-DXIqW2AU.js", include_bytes!("assets/feed-DXIqW2AU.js")),
    ("assets/index-BzXVKFfd.css", include_bytes!("assets/index-BzXVKFfd.css")),
    ("assets/index-DO1LngSl.js", include_bytes!("assets/index-DO1LngSl.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
