//! Written by `npm run build` in `clients/console`.

pub(super) const FILES: &[(&str, &[u8])] = &[
    ("assets/feed-CILumGNN.js", include_bytes!("assets/feed-CILumGNN.js")),
    ("assets/index-BFO1xszX.css", include_bytes!("assets/index-BFO1xszX.css")),
    ("assets/index-D7th4bVi.js", include_bytes!("assets/index-D7th4bVi.js")),
    ("icon.svg", include_bytes!("icon.svg")),
    ("index.html", include_bytes!("index.html")),
];
