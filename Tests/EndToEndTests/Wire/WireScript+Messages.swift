extension WireScript {
    static let messages = #"""
        # Sends
        alice POST {crew}/messages {"id":"{m4}","type":"text","content":{"text":"four"}}
        alice POST {crew}/messages {"id":"{m4}","type":"text","content":{"text":"four"}}
        bob/phone send {in},"message":{"id":"{m5}","type":"text","content":{"text":"five"}}
        bob/phone send {in},"message":{"id":"{m5}","type":"text","content":{"text":"five"}}
        alice/phone send "conversation":"direct:bob",
            "message":{"id":"{m1}","type":"text","content":{"text":"hi \u0001 é"},
            "mentions":{"users":["bob"],"pushText":"look"},"metadata":{ "a" : 1.50, "b":[ ] },"extra":["\u0041",null],
            "customType":"poll","flags":{"countsUnread":false,"notifies":false,"updatesRecents":false}}
        bob POST /v1/conversations/direct:alice/messages {"id":"{m2}","type":"text","content":{"text":"hi"},
            "replyTo":"{m1}"}
        bob POST {crew}/messages <<{"id":"{m6}","type":"location",
            "content":{"latitude":1,"longitude":2},"mentions":{"everyone":true}} ||
            {"id":"{m7}","type":"command","content":{"name":"x"}}>>
        alice/phone send {in},"message":{"id":"{m8}","type":"app:poll","content":{"q":[1]}}
        root POST /v1/conversations/system:bob/messages {"id":"{m1}","type":"notice","content":{"text":"welcome"}}
        alice POST /v1/conversations/community:town/messages {"id":"{m1}","type":"text","content":{"text":"town"}}
            ~ alice/laptop head ~ alice/phone head ~ bob/phone head
        bob/phone subscribe "conversations":["room:lobby"]
        carol POST /v1/conversations/room:lobby/messages {"id":"{m1}","type":"text","content":{"text":"room"},
            "priority":"low"}
        bob/phone unsubscribe "conversations":["room:lobby"]
        carol POST /v1/conversations/room:lobby/messages {"id":"{m2}","type":"text","content":{"text":"room"}}
        <<- || carol || reader>> POST {crew}/messages {"id":"{m9}",{text}}
        alice POST {crew}/messages <<{"id":"{m4}","type":"text","content":{"text":"other"}} ||
            {"id":"{m5}","type":"text","content":{"text":"five"}} || {{text}} || {"id":"{m9}","content":{"text":"x"}} ||
            {"id":"{m9}","type":"text"} || {"id":"9",{text}} || {"id":"{m9}","type":"a b","content":{"text":"x"}} ||
            {"id":"{m9}","type":"text","content":{"text":7}} || {"id":"{m9}",{text},"push":7} ||
            {"id":"{m9}",{text},"replyTo":"9"} || {"id":"{m9}",{text},"replyTo":"{m99}"} ||
            {"id":"{m9}",{text},"flags":[1]} ||
            {"id":"{m9}",{text},"priority":"?"} || {"id":"{m9}",{text}} 7 || [Content-Type: text/plain] {"id":"{m9}"} ||
            || {"id":"{m9}","type":"file","content":{"media":"{m9}"}}>>
        alice/phone send <<{in} || "message":{"id":"{m9}",{text}} || {in},"message":[1] ||
            "conversation":"group:none","message":{"id":"{m9}",{text}} ||
            {in},"message":{"id":"{m4}","type":"text","content":{"text":"other"}} ||
            {in},"message":{"id":"{m9}","type":"text","content":7}>>
        # Edits
        alice PATCH {crew}/messages/{m4} <<{"content":{"text":"4"},"metadata":{"a":1}} ||
            {"content":{"text":"IV"},"operation":"{m101}"} || {"content":{"text":"IV"},"operation":"{m101}"}>>
        bob/phone edit {in},"id":"{m5}","operation":"{m102}","edit":{"content":{"text":"5"}}
        carol PATCH {crew}/messages/{m4} {"content":{"text":"x"}}
        alice PATCH {crew}/messages/<<{m5} || {m99} || x>> {"content":{"text":"x"}}
        alice PATCH {crew}/messages/{m4} <<{} || {"content":{"text":"x"},"type":"file"} ||
            {"content":{"text":"x"},"operation":"x"} || not JSON>>
        alice/phone edit <<{in},"id":"{m4}","edit":{"content":{"text":"x"}} || {in},"id":"{m4}","operation":"{m103}" ||
            {in},"operation":"{m103}","edit":{"content":{"text":"x"}} ||
            {in},"id":"{m4}","operation":"{m103}","edit":{"content":7}>>
        bob/phone edit {in},"id":"{m4}","operation":"{m103}","edit":{"content":{"text":"x"}}
        # Actions
        alice POST {crew}/messages/{m5}/actions {"type":"reaction","value":"+"} => act:timetoken
        alice POST {crew}/messages/{m5}/actions {"type":"reaction","value":"+"}
        bob/phone action {in},"id":"{m5}","operation":"{m110}", "action":{"type":"reaction","value":"+"}
            => second:timetoken
        bob/phone action <<{in},"id":"{m5}","operation":"{m110}", "action":{"type":"reaction","value":"+"} ||
            {in},"id":"{m4}","operation":"{m111}","action":{"type":"seen","value":"1"}>>
        # Pins and polls
        alice POST {crew}/messages/{m4}/actions <<{"type":"pin","value":"pin"} || {"type":"pin","value":"pin"} ||
            {"type":"pin","value":"red"}>>
        bob POST {crew}/messages {"id":"{m90}","type":"poll","content":{"text":"Which day?","options":["Sat","Sun"]}}
        bob POST {crew}/messages <<{"id":"{m91}","type":"poll","content":{"text":"?","options":["Sat"]}} ||
            {"id":"{m91}","type":"poll","content":{"options":["Sat","Sun"]}}>>
        bob/phone action <<{in},"id":"{m90}","operation":"{m92}","action":{"type":"vote","value":"0"} ||
            {in},"id":"{m90}","operation":"{m93}","action":{"type":"vote","value":"1"} ||
            {in},"id":"{m90}","operation":"{m94}","action":{"type":"vote","value":"2"}>>
        bob GET {crew}/pins<< || ?limit=1 || ?cursor=1 || ?cursor=x>>
        bob/phone pins <<{in} || {in},"limit":0>>
        bob PATCH {crew}/messages/{m90} <<{"type":"poll","content":{"text":"?","options":["Sat","Sun"]}} ||
            {"type":"poll","content":{"text":"Which day?","options":["Sat","Sun"],"closed":true}}>>
        bob/phone action {in},"id":"{m90}","operation":"{m95}","action":{"type":"vote","value":"0"}
        bob/phone removeAction {in},"id":"{m4}","operation":"{m96}","action":{"type":"pin","value":"pin"}
        # Threads
        alice POST {crew}/messages {"id":"{m97}","type":"text","content":{"text":"Both?"},"replyTo":"{m90}",
            "mentions":{"users":["bob"]}}
        bob GET {crew}/threads<< || ?limit=1 || ?followed=true&limit=1 || ?cursor=1 || ?cursor=x || ?limit=0>>
        bob/phone threads <<{in} || {in},"followed":true,"limit":0>>
        bob PUT {crew}/threads/{m90} <<{"followed":false} || {"seq":1,"epoch":"{epoch}"} || {} || {"seq":1} ||
            {"seq":1,"epoch":"1"}>>
        bob/phone thread <<{in},"thread":"{m90}","followed":true || {in},"thread":"{m97}","followed":true ||
            {in},"thread":"{m99}","followed":true || {in},"thread":"{m90}">>
        # Scheduled messages
        bob POST {crew}/scheduled <<{"id":"{m98}",{text},"sendAt":"{soon}"} || {"id":"{m98}",{text}} ||
            {"id":"{m98}",{text},"sendAt":"tomorrow"} || {"id":"{m98}",{text},"sendAt":"2999-01-01T00:00:00Z"} ||
            {"id":"{m90}",{text},"sendAt":"{soon}"}>>
        carol POST {crew}/scheduled {"id":"{m98}",{text},"sendAt":"{soon}"}
        bob GET /v1/scheduled<< || ?limit=0 || ?cursor=x>>
        bob/phone schedule <<{in},"message":{"id":"{m98}",{text},"sendAt":"{soon}"} || {in}>>
        bob/phone scheduled
        root GET /v1/users/bob/scheduled<< || ?limit=0>>
        bob <<GET /v1/users/bob/scheduled || DELETE /v1/users/bob/scheduled/{m98}>>
        root DELETE /v1/users/bob/scheduled/<<{m98} || {m98} || x>>
        bob/phone schedule {in},"message":{"id":"{m98}","type":"text","content":{"text":"y"},"sendAt":"{soon}"}
        bob/phone cancelScheduled <<"id":"{m98}" || "id":"{m98}">>
        bob DELETE /v1/scheduled/{m98}
        # Directory
        bob GET /v1/users?text=a
        root PUT /v1/settings {"directory":"sharedConversations"}
        bob GET /v1/users?<<text=a || text=a&limit=1 || text= || text=- || text=a&limit=0>>
        bob/phone searchUsers <<"text":"a" || "text":"">>
        root PUT /v1/settings <<{"directory":"somebody"} || {"directory":"nobody"}>>
        # Drafts
        bob PUT /v1/drafts/group:crew <<{"draft":{"text":"see you at"}} || {"draft":{"text":"see you at"}} ||
            {"draft":"text"} || {"draft":null}>>
        bob/phone putDraft <<"conversation":"direct:alice","draft":{"text":"hi"} || "draft":{"text":"hi"}>>
        bob GET /v1/drafts<< || ?cursor=x>>
        bob/phone drafts => drafts:cursor
        bob/phone drafts "cursor":"{drafts}"
        # More actions
        alice GET {crew}/messages/{m5}/actions<< || ?limit=1>>
        alice GET {crew}/actions<< || ?limit=5&cursor={act}>>
        alice/phone actions <<{in} || {in},"id":"{m5}","after":"{act}","limit":1>>
        alice <<GET {crew}/messages/{m5} || DELETE {crew}/messages/{m5}/actions/{act}>>
        bob/phone removeAction <<{in},"id":"{m5}","operation":"{m112}","timetoken":"{second}" ||
            {in},"id":"{m4}","operation":"{m113}", "action":{"type":"seen","value":"1"}>>
        <<carol POST {crew}/messages/{m5} || alice POST {crew}/messages/{m99}>>/actions {"type":"reaction","value":"+"}
        alice POST {crew}/messages/{m5}/actions <<{"value":"+"} || {"type":"reaction"} ||
            {"type":"reaction","value":""} || {"type":7,"value":"+"} || >>
        <<carol GET {crew}/messages/{m5}/actions || alice GET {crew}/messages/{m99}/actions>>
        alice GET {crew}/actions?<<cursor=x || limit=0 || limit=1&limit=1>>
        alice DELETE {crew}/messages/{m5}/actions/<<x || 1>>
        alice/phone action <<{in},"id":"{m5}","action":{"type":"reaction","value":"+"} ||
            {in},"id":"{m5}","operation":"{m114}","action":{"type":"reaction"} ||
            {in},"id":"{m5}","operation":"{m114}","action":"+" || {in},"id":"{m5}","operation":"{m114}">>
        alice/phone actions <<"id":"{m5}" || {in},"after":7 || {in},"limit":101>>
        alice/phone removeAction <<{in},"id":"{m5}","operation":"{m115}" ||
            {in},"id":"{m5}","operation":"{m115}","timetoken":"1" ||
            {in},"id":"{m5}","operation":"{m115}","timetoken":"1", "action":{"type":"reaction","value":"+"}>>
        # Deletes
        bob <<DELETE {crew}/messages/{m5}?for=me || DELETE {crew}/messages/{m5}>>
        alice POST {crew}/messages/delete <<{"ids":["{m6}"]} || {"ids":["{m1}"],"for":"me"}>>
        <<alice/phone delete {in},"ids":["{m2}","{m99}"] || bob/phone delete {in},"ids":["{m3}"],"for":"me">>
        bob <<GET {crew}/messages || DELETE {crew}/messages/{m4}>>
        alice <<DELETE {crew}/messages/{m99} || DELETE {crew}/messages/{m99}?for=me>>
        alice DELETE {crew}/messages/{m4}?<<for=you || for=me&for=me>>
        <<reader DELETE {crew}/messages/{m4} || bob POST {crew}/messages/delete {"ids":["{m4}"]}>>
        alice POST {crew}/messages/delete <<{} || {"ids":[]} || {"ids":["x"]} || {"ids":["{m4}"],"for":"you"} || >>
        alice/phone delete <<{in} || {in},"ids":"{m4}" || {in},"ids":["{m4}"],"for":7>>
        bob/phone delete {in},"ids":["{m4}"]
        # Imports
        root PUT /v1/conversations/group:old {"members":["alice","bob"]}
        root POST /v1/conversations/group:old/import <<{"messages":[{"id":"{m1}","sender":"bob","type":"text",
            "sentAt":"2001-01-01T00:00:00.000Z","content":{"text":"old"}}],"countsUnread":true} || {"messages":[]} ||
            {} || {"messages":[{"id":"{m3}"}]} ||
            {"messages":[{"id":"{m3}","sender":"bob","sentAt":"1999-01-01T00:00:00.000Z",{text}}]} ||
            {"messages":[],"countsUnread":1} || >>
        <<alice POST /v1/conversations/group:old || root POST /v1/conversations/group:none>>/import {"messages":[]}
        # Ranges
        root DELETE /v1/conversations/group:old/messages?<<to=seq:1&operation={m120} ||
            from=seq:1&to=seq:2&operation={m121} || from=seq:1&to=seq:2&operation={m121}>>
        root/phone connect
        root/phone deleteHistory <<{in},"operation":"{m121}","from":"seq:1","to":"id:{m4}" ||
            {in},"operation":"{m122}","all":true>>
        alice DELETE {crew}/messages?all=true
        root <<DELETE /v1/conversations/group:none/messages?all=true || DELETE {crew}/messages>>
        root DELETE {crew}/messages?<<all=false || all=true&from=seq:1 || from=x || from=seq:1&from=seq:2 ||
            all=true&operation=x>>
        alice/phone deleteHistory {in},"operation":"{m123}","all":true
        root/phone deleteHistory <<{in},"all":true || {in},"operation":"{m123}" ||
            {in},"operation":"{m123}","all":"yes" || {in},"operation":"{m123}","from":"x">>
        """#

    static let history = #"""
        # Pages
        alice GET {crew}/messages
        alice GET {crew}/messages?limit=1 => older:older
        alice GET {crew}/messages?cursor={older}&limit=1
        alice GET {crew}/messages?after=earliest&limit=2&sort=oldestFirst => newer:newer
        alice GET {crew}/messages?<<cursor={newer} || before=seq:3&limit=1 ||
            around=id:{m2}&beforeLimit=1&afterLimit=0 || from=seq:1&to=seq:3 ||
            senders=bob&types=text,file&include=actions,metadata || senders=bob&senders=alice&limit=1 || limit=0>>
        bob GET {crew}/messages/{m1}
        alice/phone history {in},"limit":1 => older:older
        alice/phone history <<{in},"cursor":"{older}" ||
            {in},"after":"seq:1","sort":"oldestFirst","include":["actions"] ||
            {in},"senders":["bob"],"mentionsMe":false,"hasMedia":false>>
        <<- || carol>> GET {crew}/messages
        alice GET {crew}/messages?<<limit=101 || limit=-1 || limit=x || limit=1&limit=1 || before=x ||
            before=seq:1&before=seq:2 || before=earliest || before=latest&after=earliest || from=seq:1 ||
            beforeLimit=1 || cursor=x || cursor={older}&sort=oldestFirst || sort=best || types=a%20b || thread=x ||
            mentionsMe=1 || include=all || senders=%FF || around=id:{m99}>>
        carol GET {crew}/messages/{m1}
        alice GET {crew}/messages/<<{m99} || x>>
        alice/phone history << || "conversation":"group:none" || {in},"limit":101 || {in},"limit":"1" ||
            {in},"types":"text" || {in},"types":[7] || {in},"before":7 || {in},"mentionsMe":"true">>
        # Several conversations
        alice POST /v1/history/fetch {"conversations":["group:crew","group:none"],"limit":1} => next:older
        alice POST /v1/history/fetch {"cursors":{"group:crew":"{next}"}}
        alice/phone fetch "conversations":["group:crew"],"before":"seq:3","include":["actions"],"limit":2
        alice POST /v1/history/counts {"since":{"group:crew":"1","group:none":"1"}}
        alice/phone counts "since":{"group:crew":"1"}
        alice POST /v1/history/refresh {"messages":[{"conversation":"group:crew","id":"{m1}"},
            {"conversation":"group:crew","id":"{m99}"}]}
        alice/phone refresh "messages":[{"conversation":"group:crew","id":"{m2}"}]
        alice POST /v1/history/fetch <<{} || {"conversations":["group:crew","group:crew"]} ||
            {"conversations":["crew"]} || {"conversations":["group:crew"],"cursor":"x"} ||
            {"conversations":["group:crew"],"limit":101} || {"cursors":{"group:crew":7}} || not JSON>>
        - POST /v1/history/counts {"since":{}}
        alice POST /v1/history/counts <<{} || {"since":{}} || {"since":{"group:crew":1}} || {"since":["group:crew"]}>>
        alice POST /v1/history/refresh <<{} || {"messages":[]} || {"messages":[{"id":"{m1}"}]} ||
            [Content-Type: text/plain] {"messages":[]}>>
        alice/phone fetch << || "conversations":"group:crew" || "conversations":["group:crew"],"limit":0.5>>
        alice/phone counts << || "since":{"crew":"1"} || "since":{"group:crew":"x"}>>
        alice/phone refresh << || "messages":[{"conversation":"group:crew"}] ||
            "messages":[{"conversation":"group:crew","id":7}]>>
        # Search
        alice GET /v1/search?text=hello until ]}]}
        alice GET /v1/search?text=hello&limit=1 => hit:cursor
        alice <<GET /v1/search?text=hello&limit=1&cursor={hit} || GET {crew}/search?text=two&sort=bestFirst>>
        alice/phone search <<"text":"hello","limit":2 || "text":"three",{in},"sort":"newestFirst">>
        <<carol || ->> GET /v1/search?text=hello
        alice GET /v1/search<< || ?text= || ?text=a&text=b || ?text=hello&limit=0 || ?text=hello&limit=x ||
            ?text=hello&sort=oldest || ?text=hello&cursor=x || ?text=other&cursor={hit}>>
        <<carol GET {crew}/search?text=hello || alice GET {crew}/search>>
        alice/phone search << || "text":7 || "text":"hello","limit":101 || "text":"hello","sort":"oldest" ||
            "text":"hello","conversation":"group:none">>
        # Synchronization
        alice/phone sync => done:cursor
        alice/phone sync "cursor":"{done}"
        alice/phone sync "limit":1 => part:cursor
        alice/phone sync <<"cursor":"{part}","limit":1 ||
            "positions":[{"conversation":"group:crew","epoch":"{epoch}","view":1,"seq":1,"rev":0},
            {"conversation":"group:none","epoch":"1","view":0,"seq":0,"rev":0}]>>
        alice/phone heads "conversations":["group:crew","community:town/default"]
        alice/phone subscribe "conversations":["community:town/default"]
        bob POST /v1/conversations/community:town/messages {"id":"{m1}","type":"text","content":{"text":"town"}}
            ~ alice/laptop head ~ alice/phone head ~ bob/phone head
        alice/phone unsubscribe "conversations":["community:town/default"]
        alice/phone sync <<"limit":0 || "limit":501 || "cursor":"x" || "cursor":7 ||
            "positions":[{"conversation":"group:crew","seq":1}] ||
            "positions":[{"conversation":"group:crew","epoch":"{epoch}","seq":-1}]>>
        alice/phone heads << || "conversations":[7] || "conversations":["group:none"]>>
        alice/phone subscribe << || "conversations":["group:none"] || "conversations":["room:lobby","crew"]>>
        alice/phone unsubscribe << || "conversations":"room:lobby">>
        """#

    static let state = #"""
        # Lists
        bob POST /v1/conversations/direct:alice/messages {"id":"{m1}","type":"text","content":{"text":"hi"}}
        alice GET /v1/conversations
        alice GET /v1/conversations?limit=1&include=totals => list:cursor
        alice GET /v1/conversations?<<limit=1&cursor={list} || kind=group&muted=false&unread=true>>
        - GET /v1/conversations
        alice GET /v1/conversations?<<kind=club || muted=1 || unread=yes || include=all || limit=0 || limit=1&limit=1 ||
            cursor=x>>
        # Positions
        <<bob PUT {crew}/read {"seq":1,"epoch":"{epoch}"} || bob/phone read {in},"seq":2,"epoch":"{epoch}","userRev":1>>
        <<bob PUT {crew}/unread || bob/phone markUnread {in}>>
        alice/phone read "conversation":"direct:bob","seq":1,"epoch":"{epoch}"
        alice/phone heads "conversations":["direct:bob"] => direct:epoch
        alice/phone readMany "conversations":[{"conversation":"direct:bob","seq":1,"epoch":"{direct}"},
            {"conversation":"group:none","seq":1,"epoch":"1"}]
        bob/phone delivered "conversations":[{"conversation":"group:crew","seq":3,"epoch":"{epoch}"},
            {"conversation":"group:none","seq":1,"epoch":"1"}]
        alice POST /v1/delivered {"conversations":[{"conversation":"group:crew","seq":3,"epoch":"{epoch}"},
            {"conversation":"group:crew","seq":99,"epoch":"{epoch}"}]}
        bob POST /v1/read <<{"conversations":[{"conversation":"group:crew","seq":3,"epoch":"{epoch}"},
            {"conversation":"group:crew","seq":3,"epoch":"1"}]} || {"all":true}>>
        <<alice POST /v1/read {"kind":"group","upTo":"1"} || bob PUT {crew}/clear {"seq":1,"epoch":"{epoch}"}>>
        bob/phone clear {in},"seq":2,"epoch":"{epoch}"
        # Settings of a conversation
        <<alice PUT {crew}/settings {"muted":true} || alice/phone settings {in},"muted":false,"pinned":true>>
        alice PUT {crew}/notifications {"notifications":"mentions"}
        alice/phone notifications {in},"notifications":null
        alice <<DELETE || PUT>> {crew}/recent
        alice/phone <<removeRecent {in},"seq":1,"epoch":"{epoch}","stopRoaming":true || addRecent {in}>>
        alice <<DELETE {crew}/recent?stopRoaming=true || DELETE {crew}/roaming>>
        alice/phone stopRoaming <<{in} || {in},"seq":1,"epoch":"{epoch}">>
        alice GET /v1/conversations
        <<carol || reader>> PUT {crew}/read {"seq":1,"epoch":"{epoch}"}
        alice PUT {crew}/read <<{"seq":1} || {"epoch":"{epoch}"} || {"seq":1,"epoch":"1"} ||
            {"seq":99,"epoch":"{epoch}"} || {"seq":-1,"epoch":"{epoch}"} || {"seq":"1","epoch":"{epoch}"} ||
            {"seq":1,"epoch":1} || >>
        <<carol PUT {crew}/unread || alice PUT /v1/conversations/group:none/unread>>
        alice PUT {crew}/settings <<{} || {"muted":1} || {"pinned":"yes"}>>
        carol PUT {crew}/settings {"muted":true}
        alice PUT {crew}/notifications <<{"notifications":"some"} || {"notifications":1}>>
        alice DELETE {crew}/recent?<<stopRoaming=yes || stopRoaming=true&stopRoaming=true>>
        carol <<PUT {crew}/recent || DELETE {crew}/roaming>>
        alice PUT {crew}/clear <<{"seq":1} || {"seq":99,"epoch":"{epoch}"} || {"seq":1.5,"epoch":"{epoch}"} || [1]>>
        alice POST /v1/read <<{} || {"all":true,"kind":"group"} || {"conversations":[],"all":true} || {"kind":"club"} ||
            {"conversations":[{"conversation":"group:crew"}]} || {"all":true,"upTo":1} || not JSON>>
        alice POST /v1/delivered <<{} || {"conversations":["group:crew"]} ||
            {"conversations":[{"conversation":"group:crew"}]} || not JSON>>
        alice/phone delivered << || "conversations":7>>
        alice/phone read <<{in} || "seq":1,"epoch":"{epoch}" || {in},"seq":"1","epoch":"{epoch}" ||
            {in},"seq":1,"epoch":"x">>
        alice/phone <<markUnread || readMany>>
        alice/phone readMany "conversations":["group:crew"]
        alice/phone settings <<{in} || {in},"muted":"yes">>
        alice/phone notifications {in},"notifications":"some"
        alice/phone removeRecent <<{in},"seq":1 || {in},"stopRoaming":1>>
        alice/phone <<addRecent "conversation":"group:none" || stopRoaming "conversation":7>>
        alice/phone clear <<{in},"seq":1 || {in},"seq":1,"epoch":"1">>
        """#
}
