// What the small worlds of the translator are made of, each word beside its translation.

const rows = (text) =>
  text
    .trim()
    .split(/\s*,\s*/)
    .map((entry) => entry.trim().split(/\s*=\s*/));

const sides = (text) => rows(text).map(([en, zh]) => ({ en, zh }));

/** Things: `measure` is the word that Chinese counts them with; `many`, the English plural. */
export const things =
  rows(`apple=苹果=个, banana=香蕉=根, orange=橘子=个, book=书=本, pen=笔=支, cup=杯子=个, ball=球=个,
  hat=帽子=顶, key=钥匙=把, bag=包=个, box=盒子=个, phone=手机=部, watch=手表=块, letter=信=封, map=地图=张, lamp=灯=盏,
  clock=钟=个, knife=刀=把, spoon=勺子=把, plate=盘子=个, bottle=瓶子=个, coat=外套=件, ring=戒指=枚, doll=娃娃=个,
  kite=风筝=只, flower=花=朵, egg=鸡蛋=个, cake=蛋糕=块, lemon=柠檬=个, potato=土豆=个, tomato=西红柿=个, pear=梨=个,
  peach=桃子=个, carrot=胡萝卜=根, candle=蜡烛=支, basket=篮子=个, towel=毛巾=条, mirror=镜子=面, camera=相机=台,
  newspaper=报纸=份, magazine=杂志=本, picture=照片=张, ticket=票=张, stone=石头=块, shirt=衬衫=件, skirt=裙子=条,
  umbrella=雨伞=把, toy=玩具=个, sandwich=三明治=个, pencil=铅笔=支, notebook=本子=个, card=卡片=张, wallet=钱包=个,
  bowl=碗=个, guitar=吉他=把, piano=钢琴=架, cat=猫=只, dog=狗=只, bird=鸟=只, mouse=老鼠=只, rabbit=兔子=只, horse=马=匹,
  fish=鱼=条=fish, chair=椅子=把, table=桌子=张, bike=自行车=辆, car=车=辆, computer=电脑=台, radio=收音机=台,
  watermelon=西瓜=个, dictionary=词典=本=dictionaries, bed=床=张, desk=书桌=张, window=窗户=扇, door=门=扇, house=房子=座`).map(
    ([en, zh, measure, many]) => ({ en, zh, measure, many: many ?? plural(en) }),
  );

function plural(noun) {
  if (/knife$/.test(noun)) {
    return noun.replace('fe', 'ves');
  }
  if (noun === 'mouse') {
    return 'mice';
  }
  return /(s|x|ch|sh|tato|mato)$/.test(noun) ? `${noun}es` : `${noun}s`;
}

export const places =
  sides(`on the table=桌子上, on the chair=椅子上, on the sofa=沙发上, on the bed=床上, on the floor=地板上,
  on the shelf=架子上, on the desk=书桌上, on the wall=墙上, on the roof=屋顶上, on the grass=草地上, on the bus=公共汽车上,
  in the box=盒子里, in the bag=包里, in the kitchen=厨房里, in the garden=花园里, in the car=车里, in the basket=篮子里,
  in the drawer=抽屉里, in the room=房间里, in the house=房子里, in the cup=杯子里, in the bowl=碗里, in the water=水里,
  in the tree=树上, in the river=河里, in the office=办公室里, in the park=公园里, in the shop=商店里, in the forest=森林里,
  in the bathroom=浴室里, in the classroom=教室里, in the library=图书馆里, in the pocket=口袋里, in the refrigerator=冰箱里,
  under the table=桌子下面, under the bed=床下面, under the chair=椅子下面, under the tree=树下, under the bridge=桥下,
  behind the door=门后面, behind the house=房子后面, near the window=窗户旁边, near the door=门旁边, by the river=河边,
  by the road=路边, at home=家里, at school=学校里`);

export const men =
  sides(`Tom=汤姆, John=约翰, Jack=杰克, Peter=彼得, Paul=保罗, Mark=马克, David=大卫, Sam=山姆, Henry=亨利,
  George=乔治, Mike=迈克, Bob=鲍勃, Harry=哈利, Charlie=查理, Daniel=丹尼尔, James=詹姆斯, Robert=罗伯特, William=威廉,
  Frank=弗兰克, Jim=吉姆, Bill=比尔, Xiaoming=小明, Xiaogang=小刚, Xiaohua=小华`);

export const women =
  sides(`Mary=玛丽, Jane=简, Lucy=露西, Alice=爱丽丝, Emma=艾玛, Kate=凯特, Lily=莉莉, Anna=安娜, Betty=贝蒂,
  Helen=海伦, Susan=苏珊, Linda=琳达, Nancy=南希, Emily=艾米丽, Rose=罗丝, Julia=朱莉娅, Laura=劳拉, Maria=玛丽亚, Amy=艾米,
  Lisa=丽莎, Xiaohong=小红, Xiaoli=小丽, Xiaofang=小芳`);

/** Whoever is not a name; `verb`: `likes`, `like`. */
export const pronouns = rows('I=我=plain, you=你=plain, we=我们=plain, they=他们=plain, he=他=third, she=她=third').map(
  ([en, zh, form]) => ({ en, zh, third: form === 'third' }),
);

export const family =
  sides(`my father=我爸爸, my mother=我妈妈, my brother=我哥哥, my sister=我妹妹, my friend=我的朋友,
  the teacher=老师, the boy=男孩, the girl=女孩, his father=他爸爸, her mother=她妈妈, the doctor=医生, the child=孩子`);

export const animals = sides(
  'cat=猫, dog=狗, bird=鸟, rabbit=兔子, horse=马, animal=动物, mouse=老鼠, sheep=羊, cow=牛',
);

export const colours =
  sides(`red=红色, blue=蓝色, green=绿色, yellow=黄色, white=白色, black=黑色, brown=棕色, pink=粉色,
  grey=灰色, orange=橙色, purple=紫色`);

export const qualities =
  sides(`big=大, small=小, new=新, old=旧, beautiful=漂亮, heavy=重, expensive=贵, cheap=便宜, clean=干净,
  dirty=脏, long=长, short=短, good=好, nice=好看, light=轻`);

export const feelings =
  sides(`tired=累, happy=高兴, hungry=饿, thirsty=渴, busy=忙, sad=难过, angry=生气, afraid=害怕, cold=冷,
  sick=不舒服`);

export const likings =
  sides(`apples=苹果, bread=面包, rice=米饭, fish=鱼, soup=汤, cake=蛋糕, eggs=鸡蛋, noodles=面条, meat=肉,
  fruit=水果, candy=糖, ice cream=冰淇淋, tea=茶, coffee=咖啡, milk=牛奶, music=音乐, football=足球, tennis=网球,
  baseball=棒球, dancing=跳舞, singing=唱歌, swimming=游泳, reading=看书, cooking=做饭, painting=画画, fishing=钓鱼,
  running=跑步, playing ball=打球, horses=马, dogs=狗, cats=猫, birds=鸟, flowers=花, movies=电影, games=游戏,
  science=科学, history=历史, school=学校, English=英语, Chinese=中文, watching TV=看电视, oranges=橘子, bananas=香蕉`);

export const destinations =
  sides(`to school=学校, to the park=公园, to the library=图书馆, to the shop=商店,   to the playground=操场, to the river=河边, to the office=办公室, to the hospital=医院, to the station=车站,
  to Beijing=北京, to the zoo=动物园`);

export const counts = sides('two=两, three=三, four=四, five=五, six=六, seven=七, eight=八, nine=九, ten=十');
