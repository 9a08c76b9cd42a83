extension WireScript {
    static let scene = #"""
        root PUT /v1/conversations/group:crew {"name":"Crew","members":["alice","bob"]}
        root PUT /v1/conversations/group:crew/members/alice {"role":"owner"}
        root PUT /v1/conversations/community:town {"members":["alice","bob"]}
        root PUT /v1/conversations/room:lobby {}
        alice POST /v1/conversations/group:crew/messages {"id":"{m1}","type":"text","content":{"text":"hello one"}}
            => epoch:epoch
        bob POST /v1/conversations/group:crew/messages {"id":"{m2}","type":"text","content":{"text":"hello two"}}
        alice POST /v1/conversations/group:crew/messages {"id":"{m3}","type":"text","content":{"text":"hello three"}}
        <<alice/laptop || alice/phone || bob/phone>> connect
        """#

    static let moderation = #"""
        # Blocks
        <<alice PUT /v1/blocks/carol || alice PUT /v1/blocks/carol || alice/phone block "user":"dave">>
        alice GET /v1/blocks<< || ?limit=1 || ?limit=1&cursor=carol>>
        alice/phone blocks << || "limit":1 || "limit":1,"cursor":"carol">>
        <<alice DELETE /v1/blocks/carol || alice DELETE /v1/blocks/carol || alice/phone unblock "user":"dave">>
        alice GET /v1/blocks?<<limit=0 || limit=101 || limit=many || limit=1&limit=2 || cursor=a&cursor=b || cursor=>>
        alice PUT /v1/blocks/<<alice || %01>>
        reader <<PUT || DELETE>> /v1/blocks/carol
        alice/phone <<unblock || block || block "user":7 || block "user":null || block "user":"" ||
            block "user":"alice">>
        alice/phone blocks <<"limit":0 || "limit":"1" || "cursor":"">>
        # Bans of a conversation
        alice <<PUT {crew}/bans/carol {"reason":"spam","expiresIn":3600} || PUT {crew}/bans/dave {}>>
        alice/phone ban {in},"user":"erin","until":"{soon}","reason":"rude"
        alice GET {crew}/bans<< || ?limit=1>>
        alice/phone bans <<{in} || {in},"limit":1,"cursor":"dave">>
        <<root PUT {crew}/members/carol {} || alice DELETE {crew}/bans/carol || alice/phone unban {in},"user":"dave">>
        alice PUT {crew}/bans/bob {"reason":null,"expiresIn":null}
        <<bob GET {crew}/messages || bob/phone history {in} || alice DELETE {crew}/bans/bob>>
        <<bob/phone subscribe "conversations":["room:lobby"] || root PUT /v1/conversations/room:lobby/bans/bob {}>>
        <<bob || reader || carol>> PUT {crew}/bans/dave {}
        alice PUT /v1/conversations/<<group:none || crew>>/bans/carol {}
        alice PUT {crew}/bans/alice {}
        alice PUT {crew}/bans/carol << || {"expiresIn":0} || {"expiresIn":"1"} || {"reason":7} || {"reason":"spam" ||
            [1] || [Content-Type: text/plain] {} || [Content-Type: application/json; charset=utf-8] {"other":1}>>
        alice DELETE {crew}/bans/ghost
        carol <<GET {crew}/bans || DELETE {crew}/bans/erin>>
        alice GET {crew}/bans?<<limit=x || limit=1&limit=1>>
        bob/phone ban {in},"user":"carol"
        alice/phone ban <<{in} || "user":"carol" || "conversation":"crew","user":"carol" ||
            {in},"user":"frank","until":"tomorrow" || {in},"user":"frank","until":"2001-01-01T00:00:00.000Z" ||
            {in},"user":"frank","reason":7>>
        alice/phone unban <<{in},"user":"ghost" || {in}>>
        <<bob/phone bans {in} || alice/phone bans || alice/phone bans {in},"limit":1000>>
        # Bans of the server
        <<carol/phone connect || root PUT /v1/bans/carol {"reason":"spam","expiresIn":3600} || carol GET /v1/me>>
        <<carol/phone connect || root PUT /v1/bans/dave {}>>
        root GET /v1/bans<< || ?limit=1 || ?cursor=carol>>
        root DELETE /v1/bans/dave
        alice <<GET /v1/bans || PUT /v1/bans/bob {} || DELETE /v1/bans/carol>>
        root PUT /v1/bans/bob <<{"expiresIn":-1} || {"expiresIn":400000000000} || not JSON>>
        root <<DELETE /v1/bans/dave || GET /v1/bans?limit=1&limit=2>>
        # Reports
        alice POST {crew}/messages/{m2}/reports {"reason":"spam","text":"look here"} => report:number
        alice/phone report {in},"id":"{m2}","reason":"app:other","text":null
        <<alice POST {crew}/messages/{m2} || root POST {crew}/messages/{m1}>>/reports {"reason":"violence"}
        root GET /v1/reports<< || ?limit=1 || ?limit=1&cursor=2 || ?state=open>>
        root <<GET /v1/reports/{report} || PUT /v1/reports/{report} {"state":"closed","note":"done"}>>
        root <<GET /v1/reports?state=closed || PUT /v1/reports/{report} {"state":"open","note":null}>>
        <<carol || reader>> POST {crew}/messages/{m2}/reports {"reason":"spam"}
        alice POST {crew}/messages/{m2}/reports <<{} || {"reason":"because"} || {"reason":7}>>
        alice POST {crew}/messages/<<{m99} || 7>>/reports {"reason":"spam"}
        alice/phone report <<{in},"id":"{m2}" || {in},"reason":"spam" || "id":"{m2}","reason":"spam" ||
            {in},"id":"{m99}","reason":"spam" || {in},"id":"{m2}","reason":"because">>
        alice GET /v1/reports
        root GET /v1/reports?<<state=old || cursor=x || limit=0 || state=open&state=open>>
        alice GET /v1/reports/{report}
        root GET /v1/reports/<<99 || x>>
        root PUT /v1/reports/99 {"state":"closed"}
        root PUT /v1/reports/{report} <<{} || {"state":"old"} || {"state":"closed","note":7}>>
        alice PUT /v1/reports/{report} {"state":"closed"}
        """#

    static let members = #"""
        # Conversations
        alice PUT /v1/conversations/group:book <<{"name":"Book","avatar":"https://a.test/b.png","members":["bob"]} ||
            {"name":"Books","metadata":{"a":[1]},"historyVisibility":"everything"} || {"frozen":true} ||
            {"frozen":false,"retentionDays":"default"}>>
        root PUT /v1/conversations/community:town<< || %2Fnews>> {"name":"News"}
        root PUT /v1/conversations/community:town%2Fstaff {"private":true,"members":["alice"]}
        root PUT /v1/conversations/room:lobby <<{"capacity":2} || {"capacity":"unlimited"}>>
        <<alice GET /v1/conversations/group:book || root GET /v1/conversations/community:town%2Fnews>>
        bob GET /v1/communities/town/channels
        alice GET /v1/communities/town/channels?<<limit=1 || limit=1&cursor=default>>
        alice/phone conversation <<{in} || "conversation":"group:none">>
        alice/phone channels <<"target":"town","limit":1 || "target":"town","cursor":"default" || "limit":1>>
        alice/phone putConversation <<"conversation":"group:ride","operation":"{m120}","name":"Ride","exists":false ||
            "conversation":"group:ride","operation":"{m120}","name":"Ride","exists":false ||
            "conversation":"group:ride","operation":"{m120}","name":"Other" ||
            "conversation":"group:ride","operation":"{m121}","name":"Ride","exists":false ||
            "conversation":"group:rode","operation":"{m122}","name":"Rode","exists":true ||
            "conversation":"group:ride","operation":"{m121}","name":"" || "conversation":"group:ride","name":"Ride">>
        alice PUT /v1/conversations/group:ride {"exists":false}
        <<bob/phone || alice/phone || alice/phone>> deleteConversation "conversation":"group:ride"
        # Errors of conversations
        <<- || carol>> GET {crew}
        alice GET /v1/conversations/<<group:none || crew>>
        carol GET /v1/communities/town/channels
        alice <<GET /v1/communities/none/channels || GET /v1/communities/town/channels?limit=1&limit=2>>
        bob <<PUT {crew} {"name":"Mine"} || PUT /v1/conversations/community:new {}>>
        reader PUT /v1/conversations/group:new {}
        alice PUT /v1/conversations/group:book << || {"name":7} || {"metadata":[1]} || {"members":"bob"} ||
            {"members":["bob",""]} || {"historyVisibility":"none"} || {"frozen":"yes"} || {"retentionDays":0}>>
        root PUT /v1/conversations/room:lobby {"capacity":"all"}
        alice PUT /v1/conversations/group:book <<{"name":"Books" || [Content-Type: text/plain] {"name":"Books"}>>
        bob DELETE {crew}
        # Members
        alice GET {crew}/members<< || ?limit=1 || ?limit=1&cursor=alice>>
        alice/phone members <<{in} || {in},"limit":1,"cursor":"alice">>
        alice PUT {crew}/members/carol <<{} || {"role":"moderator"}>>
        alice PUT {crew}/members/bob {"mutedUntil":"2100-01-01T00:00:00.000Z"}
        bob POST {crew}/messages {"id":"{m4}","type":"text","content":{"text":"four"}}
        alice PUT {crew}/members/bob {"mutedUntil":null}
        alice/phone putMember <<{in},"user":"dave" || {in},"user":"dave","role":"moderator","mutedUntil":"forever">>
        <<alice DELETE {crew}/members/carol || alice/phone removeMember {in},"user":"dave">>
        bob <<DELETE /v1/conversations/group:book/members/bob || GET /v1/conversations/group:book>>
        # Errors of members
        <<carol GET {crew}/members || alice GET /v1/conversations/room:lobby/members>>
        alice GET {crew}/members?<<limit=1&limit=2 || limit=1000>>
        <<bob PUT {crew}/members/carol {} || alice PUT /v1/conversations/group:none/members/carol {}>>
        alice PUT {crew}/members/carol <<{"role":"king"} || {"role":7}>>
        alice <<PUT {crew}/members/bob {"mutedUntil":"soon"} || PUT {crew}/members/carol>>
        <<reader PUT {crew}/members/carol {} || bob DELETE {crew}/members/alice || alice DELETE {crew}/members/carol>>
        alice/phone members << || "conversation":"group:none" || {in},"limit":0 || {in},"cursor":7>>
        bob/phone putMember {in},"user":"carol"
        alice/phone putMember <<{in} || {in},"user":"carol","role":"king" || {in},"user":"bob","mutedUntil":7>>
        alice/phone removeMember <<{in},"user":"carol" || {in}>>
        # Readers
        bob PUT {crew}/read {"seq":3,"epoch":"{epoch}"}
        alice GET {crew}/messages/{m3}/readers<< || ?limit=1>>
        alice/phone readers {in},"id":"{m3}"
        alice <<GET {crew}/messages/{m99}/readers || GET {crew}/messages/{m3}/readers?limit=1&limit=1>>
        <<bob || carol>> GET {crew}/messages/{m3}/readers
        alice/phone readers <<{in} || {in},"id":"7" || {in},"id":"{m3}","limit":1000>>
        # Recipients
        alice GET {crew}/messages/{m3}/recipients<< || ?limit=1>>
        alice/phone recipients {in},"id":"{m3}"
        alice <<GET {crew}/messages/{m99}/recipients || GET {crew}/messages/{m3}/recipients?limit=0>>
        <<bob || carol>> GET {crew}/messages/{m3}/recipients
        alice/phone recipients <<{in} || {in},"id":"7">>
        # Invitations
        bob/tablet connect
        alice PUT /v1/conversations/group:book/invitations/bob <<{"expiresIn":3600} || {}>>
        alice/phone invite "conversation":"group:book","user":"carol","expiresIn":60
        alice GET /v1/conversations/group:book/invitations<< || ?limit=1>>
        alice/phone invitations "conversation":"group:book","limit":1,"cursor":"bob"
        bob GET /v1/invitations<< || ?limit=1>>
        <<bob/phone invitations || carol DELETE /v1/conversations/group:book/invitations/carol>>
        alice/phone endInvitation "conversation":"group:book","user":"bob"
        alice PUT /v1/conversations/group:book/invitations/bob {"expiresIn":null}
        bob PUT /v1/conversations/group:book/members/bob {}
        # Errors of invitations
        bob PUT /v1/conversations/group:book/invitations/dave {}
        alice PUT /v1/conversations/group:none/invitations/dave {}
        alice PUT /v1/conversations/group:book/invitations/dave <<{"expiresIn":0} || {"expiresIn":"1"} ||
            {"expiresIn":1.5}>>
        alice PUT /v1/conversations/group:book/invitations/bob {}
        alice PUT /v1/conversations/group:book/invitations/dave
        reader PUT /v1/conversations/group:book/invitations/dave {}
        alice DELETE /v1/conversations/group:book/invitations/dave
        bob GET /v1/conversations/group:book/invitations
        bob GET /v1/invitations?<<cursor=_ || limit=0 || limit=1&limit=1>>
        alice GET /v1/conversations/group:book/invitations?limit=x
        bob/phone invite "conversation":"group:book","user":"dave"
        alice/phone invite <<"conversation":"group:book" || "conversation":"group:book","user":"dave","expiresIn":0 ||
            "conversation":"group:book","user":"dave","expiresIn":"1">>
        alice/phone endInvitation <<"conversation":"group:book","user":"dave" || "user":"dave">>
        bob/phone invitations <<"conversation":"group:book" || "cursor":"_" || "limit":1.5>>
        # Deleting conversations
        alice DELETE /v1/conversations/<<group:book || group:book || crew>>
        reader DELETE {crew}
        """#

    static let profiles = #"""
        # Profiles
        alice PUT /v1/users/alice {"name":"Alice","avatar":"https://a.test/a.png","metadata":{"b":1, "a":[]}}
        bob PUT /v1/users/bob {"name":"Bob"}
        <<alice || carol>> GET /v1/me
        <<bob || alice || root>> GET /v1/users/alice
        <<root PUT /v1/users/bob {"name":"Robert"} || bob POST /v1/users/fetch {"users":["alice","bob","carol"]}>>
        <<bob/phone users "users":["alice","bob","carol"] || alice GET /v1/users/alice/export>>
        root GET /v1/users/carol/export
        alice/phone putUser <<"user":"alice","avatar":"" || "user":"bob","name":"Mine" || "user":"alice","name":7>>
        # Errors of profiles
        - GET /v1/me
        alice <<GET /v1/me [Authorization: Basic YTpi] || GET /v1/me [Authorization: Bearer none]>>
        alice GET /v1/users/<<carol || %00>>
        <<alice PUT /v1/users/bob {"name":"Mine"} || reader PUT /v1/users/alice {"name":"Mine"}>>
        alice PUT /v1/users/alice {"invitationOnly":<<true || 7>>}
        alice PUT /v1/users/alice << || {"name":7} || {"metadata":7} || {"push":7} || {"name":"x",}>>
        bob POST /v1/users/fetch <<{} || {"users":[]} || {"users":"alice"} || {"users":[7]} ||
            [Content-Type: text/plain] {"users":["alice"]}>>
        bob/phone users << || "users":[] || "users":["alice",7]>>
        bob GET /v1/users/alice/export
        # Presence
        <<bob POST /v1/presence/fetch {"users":["alice"]} || bob/phone presence "users":["alice"]>>
        <<root PUT /v1/settings {"presence":true} || bob POST /v1/presence/fetch {"users":["alice","bob"]}>>
        bob/phone presence "users":["alice","carol"],"on":true
        carol/phone connect "presence":true ~ bob/phone presence
        <<bob/phone presence "users":["carol"] || bob POST /v1/presence/fetch {"users":["carol"]}>>
        bob/phone presence "users":["carol"],"on":false
        bob POST /v1/presence/fetch <<{} || {"users":[]} || {"users":{"a":1}} || >>
        bob/phone presence << || "users":["alice"],"on":"yes" || "users":"alice">>
        carol/phone activity << || "active":1>>
        # Connections
        alice/phone activity <<"active":false || "active":true>>
        alice/phone ping << || "other":[1,{"a":null}]>>
        alice/phone token <<"token":"{alice}" ||  || "token":"none" || "token":"{bob}">>
        alice/phone <<dance || hello "token":"{alice}","device":"phone" || raw not JSON || raw [1] ||
            raw {"ref":1000} || raw {"type":"ping"} || raw {"type":"ping","ref":"1"} || raw {"type":7,"ref":1000} ||
            raw {"type":"pushDevices"} || raw {"type":"pushPreferences"} || raw {"ref":1000,"type":"ping"} more>>
        <<alice/phone raw {"ref":1000,"user":7,"type":"block"} || alice/watch connectRaw {"type":"ping","ref":1}>>
        alice/watch connectRaw {"type":"hello","token":"none","device":"watch"}
        alice/watch connectRaw {"type":"hello","token":"{alice}"}
        alice/watch connectRaw {"type":"hello","token":"{alice}","device":""}
        alice/watch connectRaw {"type":"hello","token":"{reader}","device":"watch"}
        alice/watch send {in},"message":{"id":"{m5}","type":"text","content":{"text":"five"}}
        alice/watch <<block "user":"bob" || ban {in},"user":"carol">>
        alice/again connectRaw {"type":"hello","token":"{alice}","device":"phone","cursor":"x","active":false}
        # Typing
        alice/watch token "token":"{alice}"
        alice/watch typing <<{in},"isTyping":true || {in},"isTyping":false ||
            "conversation":"direct:bob","isTyping":true || {in} || {in},"isTyping":"yes" ||
            "conversation":"group:none","isTyping":true>>
        carol/phone typing {in},"isTyping":true
        """#
}
