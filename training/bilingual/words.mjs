// What the small worlds are made of, in both languages.

const split = (text) => text.trim().split(/\s+/);
const splitLines = (text) => text.trim().split(/\s*,\s*/);

export const en = {
  things: splitLines(`apple, banana, orange, book, pen, cup, ball, hat, key, bag, box, phone, watch, letter, map, lamp,
    clock, knife, spoon, plate, bottle, glass, shoe, coat, ring, coin, doll, kite, drum, flower, egg, cake, bread,
    fish, lemon, potato, tomato, pear, peach, carrot, cookie, candle, basket, blanket, pillow, towel, brush, mirror,
    camera, radio, newspaper, magazine, picture, ticket, stone, stick, rope, shirt, dress, sock, glove, scarf,
    umbrella, toy, bell, feather, shell, leaf, nut, onion, cheese, sandwich, pencil, notebook, paper, card, wallet,
    hammer, nail, bowl, pot, pan, fork, kettle, broom, bucket, guitar, violin, piano, cat, dog, bird, mouse, rabbit`),
  places: splitLines(`on the table, on the chair, on the sofa, on the bed, on the floor, on the shelf, on the desk,
    on the wall, on the roof, on the bench, on the stairs, on the carpet, on the plate, on the counter, on the grass,
    in the box, in the bag, in the kitchen, in the garden, in the car, in the basket, in the drawer, in the room,
    in the house, in the cup, in the bowl, in the water, in the tree, in the river, in the street, in the office,
    in the school, in the park, in the shop, in the field, in the forest, in the boat, in the bathroom, in the corner,
    under the table, under the bed, under the chair, under the tree, under the bridge, behind the door,
    behind the house, behind the curtain, near the window, near the door, near the fire, by the river, by the road`),
  men: split(`Tom John Jack Bill Jim Peter Paul Mark David Sam Ben Henry George Mike Bob Fred Harry Charlie Max Leo
    Daniel James Robert William Thomas Richard Frank Ken Joe Dan`),
  women: split(`Mary Jane Ann Lucy Alice Emma Sara Kate Lily Anna Betty Helen Susan Linda Nancy Emily Rose Julia Laura
    Maria Sophie Grace Ellen Amy Carol Judy Kim Lisa Meg Jill`),
  colours: split('red blue green yellow white black brown pink grey orange purple'),
  foods: splitLines(
    'apples, bread, rice, fish, soup, cake, eggs, cheese, noodles, meat, fruit, candy, ice cream, cookies',
  ),
  hobbies: splitLines(`football, music, books, tennis, baseball, dancing, singing, swimming, reading, cooking, painting,
    fishing, running, chess, horses, dogs, cats, birds, flowers, movies, games, school, science, history`),
  numbers: split('two three four five six seven eight nine ten'),
};

export const zh = {
  things:
    split(`苹果 香蕉 橘子 书 笔 杯子 球 帽子 钥匙 包 盒子 手机 手表 信 地图 灯 钟 刀 勺子 盘子 瓶子 鞋 外套 戒指 硬币
    娃娃 风筝 鼓 花 鸡蛋 蛋糕 面包 鱼 柠檬 土豆 西红柿 梨 桃子 胡萝卜 饼干 蜡烛 篮子 毯子 枕头 毛巾 刷子 镜子 相机 收音机
    报纸 杂志 照片 票 石头 棍子 绳子 衬衫 裙子 袜子 手套 围巾 雨伞 玩具 铃铛 羽毛 贝壳 树叶 洋葱 奶酪 三明治 铅笔 本子 纸
    卡片 钱包 锤子 钉子 碗 锅 叉子 水壶 扫帚 水桶 吉他 小提琴 钢琴 猫 狗 鸟 老鼠 兔子 葡萄 西瓜 草莓 牛奶 茶 咖啡 书包 词典
    眼镜 药 糖 肉 米饭 行李 电脑 电视 自行车 衣服`),
  places:
    split(`桌子上 椅子上 沙发上 床上 地上 书架上 墙上 屋顶上 窗台上 楼梯上 地毯上 盘子上 草地上 车上 船上 树上 山上 柜子上
    盒子里 包里 厨房里 花园里 车里 篮子里 抽屉里 房间里 家里 杯子里 碗里 水里 河里 办公室里 学校里 公园里 商店里 森林里
    浴室里 冰箱里 箱子里 口袋里 教室里 院子里 图书馆里 桌子下 床下 椅子下 树下 桥下 门后 房子后 窗户旁 门旁 河边 路边`),
  men: split(
    '小明 小刚 小强 小王 小李 小张 大卫 约翰 杰克 彼得 爸爸 爷爷 哥哥 弟弟 叔叔 王先生 李先生 老师 汤姆 小华 张三 李四 小东',
  ),
  women: split(
    '小红 小丽 小美 小芳 小花 玛丽 安娜 露西 爱丽丝 妈妈 奶奶 姐姐 妹妹 阿姨 王小姐 李小姐 小兰 小雪 小云 小月',
  ),
  colours: split('红色 蓝色 绿色 黄色 白色 黑色 棕色 粉色 灰色 橙色 紫色'),
  foods: split('苹果 面包 米饭 鱼 汤 蛋糕 鸡蛋 面条 肉 水果 糖 冰淇淋 饼干 饺子'),
  hobbies: split(
    '足球 音乐 看书 网球 棒球 跳舞 唱歌 游泳 读书 做饭 画画 钓鱼 跑步 下棋 马 狗 猫 鸟 花 电影 游戏 打球 科学 历史',
  ),
  numbers: split('两 三 四 五 六 七 八 九 十'),
};
